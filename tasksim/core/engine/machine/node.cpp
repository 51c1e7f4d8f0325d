#include "node.h"

#include <algorithm>
#include <utility>

#include "../threads/suits.h"
#include "../threads/threads.h"

namespace tasksim {

namespace {

std::vector<std::unique_ptr<Driver>> new_drivers(Node &node) {
  std::vector<std::unique_ptr<Driver>> drivers;
  for (int worker = 0; worker < node.platform.workers; ++worker)
    drivers.push_back(std::make_unique<Driver>(node, worker, node.platform, node.routine()));
  for (const auto &driver : drivers) node.view.routines.push_back(&driver->routine);
  return drivers;
}

// Contention, except on cores that nodes share, which have a rate of their own.
std::unique_ptr<Rate> new_rate(Clock &clock, const Graph &graph, const Platform &platform,
                               const tasksim_question &question, const Membership *member) {
  if (!question.contention || (member && member->cores)) return nullptr;
  return std::make_unique<Rate>(clock, *question.contention, graph, platform);
}

// Threads, if requested; throws BadArrays if they are impossible.
std::unique_ptr<threads::Threads> new_threads(Node &node, Membership *member) {
  if (!node.question.threads) return nullptr;
  if (!can_be_threads(node.platform, node.scheduler)) throw BadArrays{};
  return std::make_unique<threads::Threads>(node, member ? &member->kernel : nullptr);
}

}  // namespace

Node::Node(const Graph &graph, const Platform &platform, const tasksim_question &question,
           Scheduler &scheduler, Clock &clock, Membership *member)
    : graph(graph),
      own_tasks(member ? member->visible.tasks : graph.tasks),
      platform(platform),
      overheads(platform.given),
      question(question),
      scheduler(scheduler),
      clock(clock),
      several(platform.memories > 1),
      blind(question.blind && question.chooses_apart),
      heeds_hints(several || overheads.push),
      prompt(!several && !overheads.push && !blind && !member && graph.exclusive.empty()),
      instant(blind ? Instant::in_steps(platform.driven_memories) : Instant{}),
      view(*this, member ? member->visible : graph, platform),
      ledger(graph, platform, view.able),
      release(graph, !overheads.submission && !question.submitted),
      charges(graph, platform, question),
      rate(new_rate(clock, graph, platform, question, member)),
      threads(new_threads(*this, member)),
      drivers(new_drivers(*this)),
      copies(graph, platform),
      ways(platform),
      estimates(platform),
      locks(clock, overheads.progress),
      requests(clock, copies, ways, estimates, all_requests, make_keepers()),
      eviction(clock, copies, requests, log, platform),
      handling(clock, platform, copies, requests, eviction, locks, log),
      mover(copies, requests, eviction),
      member_(member),
      patience_(ledger, platform.workers, graph.tasks) {
  if (instant.stepwise || threads) clock.end_waits_in_reverse();
  view.estimates = question.estimates;
  if (question.decisions)
    view.decisions = std::make_unique<Decisions>(platform.workers, graph.tasks, clock.now);
  view.able = able_classes(graph, platform, question.costs);
  if (member) view.first_ready = member->first_ready;
  if (member && !graph.hint_handle.empty()) {
    places_.resize(graph.tasks);
    for (int place = 0; place < graph.tasks; ++place) places_[member->order[place]] = place;
  }
  keep_where_data_fit();
  make_turns();
  make_drivers();
  if (member) make_landing();
}

Node::~Node() = default;

// Per memory, the routine that handles its requests: that of the first worker that drives a device,
// or the memory's own.
std::vector<Routine *> Node::make_keepers() {
  std::vector<Routine *> keepers(platform.memories, nullptr);
  for (const auto &driver : drivers)
    if (driver->pipeline && !keepers[driver->memory]) keepers[driver->memory] = &driver->routine;
  for (Routine *&each : keepers)
    if (!each) {
      own_keepers.push_back(std::make_unique<Routine>(clock));
      each = own_keepers.back().get();
    }
  return keepers;
}

// For several workers that share a limited memory.
void Node::make_turns() {
  turns.resize(platform.memories);
  for (int memory = 0; memory < platform.memories; ++memory) {
    const auto sharing = std::count(platform.memory_of.begin(), platform.memory_of.end(), memory);
    if (const Store *store = copies.store(memory); store && sharing > 1)
      turns[memory] = std::make_unique<Turns>(store->pool, graph.size);
  }
}

void Node::make_drivers() {
  for (const auto &driver : drivers) {
    driver->turns = turns[driver->memory].get();
    driver->phase = instant.pop_phase(driver->worker);
    driver->intake = std::make_unique<Intake>(graph, driver->routine, driver->memory,
                                              several ? &mover : nullptr, driver->turns,
                                              question.uses_priorities, overheads.fetch);
  }
}

// Memory for received data, if it has a cost: with devices. Workers without a device are the first
// to pin memory, from the last on.
void Node::make_landing() {
  std::vector<Routine *> cores, devices;
  for (auto each = drivers.rbegin(); each != drivers.rend(); ++each)
    ((*each)->pipeline ? devices : cores).push_back(&(*each)->routine);
  if (!platform.given.pin_s || devices.empty()) return;
  cores.insert(cores.end(), devices.begin(), devices.end());
  const i64 at_once = std::max<i64>(1, platform.given.fetches);
  landing = std::make_unique<Landing>(clock, platform.given, std::move(cores), at_once);
}

// Takes tasks away from classes whose memory cannot hold their data (engine/data/capacity.py).
void Node::keep_where_data_fit() {
  std::vector<int> limited;
  for (int group = 0; group < platform.classes; ++group)
    if (copies.store(platform.class_memory[group])) limited.push_back(group);
  std::vector<i64> sizes;
  for (int task = 0; !limited.empty() && task < graph.tasks; ++task) {
    sizes.clear();
    for (const Need &need : graph.needs[task]) sizes.push_back(graph.size[need.handle]);
    for (const int group : limited) {
      if (copies.store(platform.class_memory[group])->pool.fits(sizes)) continue;
      view.able[task] &= ~(u64{1} << group);
      if (!view.able[task]) throw Broken{TASKSIM_TOO_LARGE, task};
      if (task >= own_tasks) continue;
      const i64 all = i64{platform.classes} * own_tasks;
      if (fitting_estimates_.empty())
        fitting_estimates_.assign(question.estimates, question.estimates + all);
      fitting_estimates_[i64{group} * own_tasks + task] = INF;
    }
  }
  if (!fitting_estimates_.empty()) view.estimates = fitting_estimates_.data();
}

void Node::begin() {
  scheduler.attach(view);
  if (threads) return threads->begin();
  for (int memory = 0; memory < platform.memories; ++memory) {
    Routine *routine = requests.keepers[memory];
    const auto is_routine = [&](const auto &own) { return own.get() == routine; };
    if (std::any_of(own_keepers.begin(), own_keepers.end(), is_routine))
      routine->begin(keeper(*this, memory));
  }
  for (const auto &driver : drivers) {
    if (driver->pipeline) {
      devices_.push_back(std::make_unique<Device>(*this, *driver));
      driver->routine.begin(devices_.back()->steps());
    } else {
      driver->routine.begin(core(*this, *driver));
    }
  }
}

void Node::refuse_what_is_stuck() const {
  for (const auto &driver : drivers) {
    if (driver->intake->state != Intake::COMING) continue;
    for (int task = graph.tasks; task--;)
      if (ledger.of[task].worker == driver->worker && ledger.of[task].state == TAKEN)
        throw Broken{TASKSIM_STUCK, task, driver->memory};
  }
}

std::unique_ptr<Routine> Node::routine() {
  return threads ? threads->actor() : std::make_unique<Routine>(clock);
}

int Node::pop(Driver &driver) {
  const int worker = driver.worker;
  const int popped = scheduler.pop(worker);
  if (popped != NONE) {
    view.sleepers.asleep[worker] = false;
    return take(popped, worker);
  }
  if (driver.routine.notified)  // something new happened meanwhile: it does not sleep
    view.sleepers.asleep[worker] = false;
  else
    view.sleepers.sleep(worker);
  if (!--patience_.left) {
    if (member_)
      patience_.look(view.now(), member_->idle(), member_->over());
    else
      patience_.look(view.now(), ledger.idle() && requests.none());
  }
  return NONE;
}

int Node::take(int popped, int worker) {
  const int task = ledger.take(popped, worker);
  ledger.of[task].popped = now();
  if (view.decisions) view.decisions->taken(task, worker);
  __builtin_prefetch(&graph.successor_ptr[task]);
  return task;
}

void Node::leave(std::span<const Need> needs, Driver &driver) {
  mover.release(needs, driver.memory);
  if (driver.turns) driver.turns->leave(needs);
}

Steps<> Node::unlocked(int task) { return locks.all_free(graph.needs[task]); }

// Gives the communication *task* to its thread. Releasing one costs a push, as StarPU pushes a task
// without a kernel for it. The main thread pays nothing if nothing else is missing.
Steps<> Node::communicate(int task, Routine &routine, int released_by) {
  member_->send_for(task);
  if (overheads.push && released_by >= 0) {
    routine.phase = instant.push;
    co_await Wait{overheads.push};
  }
  hand_over(task, released_by);
}

void Node::hand_over(int task, int released_by) {
  ledger.release(task, now(), released_by);
  ledger.hand_over(task);
  member_->communicate(task);
}

void Node::hear_end(int task) {
  if (landing) member_->ended(task);
}

Steps<> Node::push(int task, Routine &routine, int pusher, int released_by) {
  if (threads) {
    co_await threads->push(task, released_by);
    co_return;
  }
  if (task >= own_tasks) {
    co_await communicate(task, routine, released_by);
    co_return;
  }
  if (blind && locks.any()) co_await unlocked(task);  // a released task takes its data first
  if (overheads.push || blind) {
    routine.phase = instant.push;
    co_await Wait{overheads.push};
  }
  if (locks.any() && question.looks_at_data) co_await unlocked(task);
  ledger.release(task, now(), released_by);
  view.pusher = pusher;
  if (!blind) {
    scheduler.push(task);
    co_return;
  }
  const Choice choice = scheduler.choose(task);
  const bool own = pusher != NONE && choice.worker == pusher;
  routine.phase = own ? instant.commit_own : instant.commit;
  clock.keep_order();
  co_await Wait{0};
  view.pusher = pusher;
  scheduler.commit(task, choice);
}

}  // namespace tasksim
