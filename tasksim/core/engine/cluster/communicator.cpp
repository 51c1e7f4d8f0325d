#include "communicator.h"

#include <utility>

#include "../threads/threads.h"

namespace tasksim::cluster {

namespace {

// Phase of communication within an instant: after all steps of workers, even counted ones, and
// before the links are shared.
constexpr double COMMUNICATION_PHASE = 1024.0;

}  // namespace

Communicator::Communicator(int number, std::span<const std::int32_t> message, Office &office)
    : number_(number),
      message_(message),
      office_(office),
      envelope_come_(*this),
      data_come_(*this),
      landed_(*this),
      room_found_(*this) {}

void Communicator::begin(Node &node) {
  node_ = &node;
  if (landing()) find_readers();
  routine_ = node.routine();
  routine_->phase = COMMUNICATION_PHASE;
  if (node.threads) bell_ = node.threads->bell(*routine_);
  routine_->begin(steps());
}

void Communicator::send_for(int task) const {
  __builtin_prefetch(&office_.messages[number_of(task)], 1);
}

// Brings the datum of *task* to main memory.
void Communicator::take(int task) {
  if (node_->several) {
    Courier &courier = couriers_.emplace_back();
    courier.task = task;
    courier.memory = MAIN_MEMORY;
    courier.priority = priority_of(message_of(task));
    courier.communicator = this;
    if (node_->mover.fetch(node_->graph.needs[task], courier)) return;
  }
  land(task);
}

// Finds memory for the message of *task*, if it is received here.
void Communicator::land(int task) {
  const Message &message = message_of(task);
  const bool asks = landing() && message.target == number_ && message.lands;
  const int number = number_of(task);
  if (!asks || landing()->ask(size_of(number), priority_of(message), landed_, task)) ready(task);
}

// The size of the datum of *message*, which is received here.
i64 Communicator::size_of(int message) const {
  const Graph &graph = node_->graph;
  return graph.size[graph.needs[office_.messages[message].receive].front().handle];
}

void Communicator::hear_end(int task) {
  const auto found = reads_.find(task);
  if (found == reads_.end()) return;
  for (const int message : found->second)
    if (!--readers_[message]) landing()->give_back(size_of(message));
}

// Notes the tasks that read received data, and the number of readers of each.
void Communicator::find_readers() {
  for (std::size_t place = 0; place < message_.size(); ++place) {
    const int number = message_[place];
    const Message &message = office_.messages[number];
    if (message.target != number_ || !message.lands) continue;
    for (const int reader : node_->graph.successors_of(message.receive)) {
      if (reader >= node_->own_tasks) continue;
      ++readers_[number];
      reads_[reader].push_back(number);
    }
  }
}

// Sends or awaits the message of *task*, whose datum is in main memory.
void Communicator::ready(int task) {
  Message &message = message_of(task);
  if (number_ == message.source) {
    office_.communicators[message.target]->send_for_thread(3);
    const int datum = node_->graph.needs[task].front().handle;
    if (last_ready_ != office_.clock.now || last_datum_ != datum) {
      last_ready_ = office_.clock.now;
      last_datum_ = datum;
      ++turn_;
    }
    out_.push({-priority_of(message), turn_, number_of(task)});
  } else {
    message.awaited = true;
    if (message.arrived)
      end_soon(task);
    else if (message.announced)
      move(message);
    else
      ++expected_;
  }
  stir();
}

void Communicator::stir() {
  routine_->woken = true;
  routine_->notify();
}

Steps<> Communicator::sleep_on_bell() {
  co_await bell_->sleep();
  co_await bell_->reset();
}

Steps<> Communicator::steps() {
  Routine &routine = *routine_;
  for (;;) {
    if (!routine.woken && done_.empty()) {
      if (bell_)
        co_await sleep_on_bell();
      else
        co_await SLEEP;
    }
    routine.woken = false;
    routine.phase = COMMUNICATION_PHASE;
    co_await Wait{0};
    co_await send();
    listen();
    while (!done_.empty()) {
      co_await end(done_.pop_front());
    }
    co_await open_envelope();
    listen();
  }
}

// Notifies the node that the communication *task* has ended.
Steps<> Communicator::end(int task) {
  const int number = number_of(task);
  if (early_.erase(number)) landing()->give_back(size_of(number));
  if (!office_.received.empty() && number_ == message_of(task).target)
    if (const i64 cost = office_.received[number]) co_await Wait{cost};
  co_await node_->finish_communication(task, *routine_);
}

bool Communicator::quiet() const {
  const bool waits = out_.empty() || in_flight_ >= office_.in_flight;
  return waits && done_.empty() && envelope_ == NONE;
}

// Sends ready messages, within the limit of those in flight.
Steps<> Communicator::send() {
  while (!out_.empty() && in_flight_ < office_.in_flight) {
    const int number = out_.pop().message;
    Message &message = office_.messages[number];
    ++in_flight_;
    if (!office_.isend.empty())
      if (const i64 cost = office_.isend[number]) co_await Wait{cost};
    office_.communicators[message.target]->hear_of(message);
    if (message.eager) move(message);
    if (message.detached) sent(message);
  }
}

// Notes that the communication *task* is over, for the thread to notify the node.
void Communicator::end_soon(int task) {
  done_.push_back(task);
  send_for_end(task, 2);
}

// Notes that *message* is not in flight any more.
void Communicator::sent(const Message &message) {
  --in_flight_;
  end_soon(message.send);
  stir();
}

// Notes that *message* is being sent to this node.
void Communicator::hear_of(Message &message) {
  if (office_.envelopes.empty()) {
    message.announced = true;
    if (!message.awaited) return;
    --expected_;
    return move(message);
  }
  letters_.push_back(static_cast<int>(&message - office_.messages.data()));
  if (listening_ && !coming_) let_come();
}

// Awaits the next envelope, if a receive is ready without one.
void Communicator::listen() {
  if (!expected_ || listening_) return;
  listening_ = true;
  if (!letters_.empty()) let_come();
}

// Lets the envelope that was sent first come.
void Communicator::let_come() {
  const int number = letters_.pop_front();
  coming_ = true;
  ++office_.under_way;
  const i64 delay = office_.envelopes[office_.messages[number].way];
  office_.clock.after(delay, END_PHASE, envelope_come_, number);
}

void Communicator::on_envelope(int message) {
  --office_.under_way;
  __builtin_prefetch(&office_.messages[message], 1);
  envelope_ = message;
  stir();
}

// Requests the data of the message whose envelope has come.
Steps<> Communicator::open_envelope() {
  if (envelope_ == NONE) co_return;
  const int number = std::exchange(envelope_, NONE);
  Message &message = office_.messages[number];
  listening_ = coming_ = false;
  if (!message.awaited && landing() && message.lands) co_await receive_early(number);
  message.announced = true;
  if (message.awaited) --expected_;
  move(message);
}

// Waits for memory for *message*, which has none yet, and does nothing meanwhile, as StarPU-MPI's
// thread does: it requests memory without priority.
Steps<> Communicator::receive_early(int message) {
  early_.insert(message);
  waits_for_room_ = true;
  if (!landing()->ask(size_of(message), 0, room_found_, message)) {
    if (bell_) co_await node_->threads->tell_all(MAIN_MEMORY);
    while (waits_for_room_) {
      if (bell_)
        co_await sleep_on_bell();
      else
        co_await SLEEP;
    }
    routine_->woken = true;  // by any event meanwhile
  }
  waits_for_room_ = false;
}

void Communicator::send_for_thread(int turns) const {
  if (turns == 3)
    for (int line = 0; line < 5; ++line)
      __builtin_prefetch(reinterpret_cast<const char *>(this) + 64 * line, 1);
  if (turns == 2) __builtin_prefetch(routine_.get(), 1);
  if (turns == 1) routine_->send_for_frame();
}

void Communicator::send_for_move(int number, int turns) const {
  const Message &message = office_.messages[number];
  send_for_thread(turns);
  if (turns == 3) return __builtin_prefetch(&message, 1);
  const Way &way = office_.ways[message.way];
  if (turns == 2) __builtin_prefetch(&way);
  if (turns == 1) __builtin_prefetch(way.uses.data());
}

void Communicator::send_for_ends(int number, int turns) const {
  const Message &message = office_.messages[number];
  send_for_thread(turns);
  if (turns == 3) return __builtin_prefetch(&message, 1);
  const Communicator &source = *office_.communicators[message.source];
  source.send_for_thread(turns + 1);
  send_for_end(message.receive, turns);
  if (turns < 2) source.send_for_end(message.send, turns + 1);
}

// For the end of the communication *task*.
void Communicator::send_for_end(int task, int turns) const {
  if (turns == 2) {
    __builtin_prefetch(&message_[task - node_->own_tasks]);
    node_->send_for_end(task);
  }
  if (turns == 1) node_->send_for_successors(task);
  if (turns == 0) node_->send_for_counts(task);
}

// Lets the data of *message* move, unless they already do.
void Communicator::move(Message &message) {
  if (message.moving) return;
  message.moving = true;
  ++office_.under_way;
  message.started = office_.clock.now;
  const Transfer data{&office_.ways[message.way], message.latency, message.factor, message.bytes};
  office_.flows.send(data, office_.communicators[message.target]->data_come_,
                     &message - office_.messages.data());
}

// Notes the arrival of the data of a message for this node.
void Communicator::on_data(int number) {
  Message &message = office_.messages[number];
  --office_.under_way;
  message.arrived = true;
  office_.ended[number] = office_.clock.now;
  if (!message.detached) office_.communicators[message.source]->sent(message);
  if (!message.awaited) return;
  end_soon(message.receive);
  stir();
}

}  // namespace tasksim::cluster
