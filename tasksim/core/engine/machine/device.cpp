// Device: a worker that fetches the data of one task while another runs
// (engine/machine/workers.py).
#include "node.h"

namespace tasksim {

Steps<> Device::steps() {
  Routine &routine = driver_.routine;
  Intake &intake = *driver_.intake;
  const Post &post = node_.requests.posts[driver_.memory];
  const bool serves = node_.requests.keepers[driver_.memory] == &routine;
  const std::size_t pipeline = static_cast<std::size_t>(driver_.pipeline);
  const i64 look = 2 * node_.overheads.progress;  // at main memory's requests, then at its own
  co_await SLEEP;
  for (;;) {
    routine.woken = false;
    if (intake.state == Intake::THERE) {
      const int task = held_.back();
      if (node_.alone(driver_, task) && held_.size() > 1) {
        intake.state = Intake::BLOCKED;
      } else {
        intake.state = Intake::EMPTY;
        co_await launch(task);
      }
    }
    if (over_) co_await take_back();
    const bool pops = held_.size() < pipeline && intake.state == Intake::EMPTY;
    if (!(pops || over_ || post.waiting || post.arrived || routine.woken)) {
      co_await SLEEP;  // a round of the loop would find nothing to do
      continue;
    }
    if (node_.instant.stepwise) {
      routine.phase = SERVE_STEPS;
      node_.clock.keep_order();  // two waits
    } else {
      routine.phase = driver_.phase;
    }
    co_await Wait{look};
    bool worked = node_.landing && node_.landing->waiting();
    if (worked) co_await node_.landing->serve();
    if (serves && (post.waiting || post.arrived))
      worked |= co_await node_.handling.serve(driver_.memory);
    bool popped = false;
    if (held_.size() < pipeline && intake.state == Intake::EMPTY) {
      if (node_.instant.stepwise) {
        routine.phase = worked ? node_.instant.pop_after_copy : driver_.phase;
        node_.clock.keep_order();
        co_await Wait{0};
      }
      popped = co_await take_one();
    }
    if (!(worked || popped || over_ || routine.woken)) co_await SLEEP;
  }
}

// Pops a task and begins to fetch its data; returns whether the driver has something new to do.
Steps<bool> Device::take_one() {
  Routine &routine = driver_.routine;
  Intake &intake = *driver_.intake;
  const int task = node_.pop(driver_);
  const bool told = std::exchange(routine.notified, false);
  if (task == NONE) co_return told;
  held_.push_back(task);
  intake.state = Intake::COMING;
  if (node_.locks.any()) co_await node_.unlocked(task);
  const i64 cost = intake.fetch(task);
  if (intake.state == Intake::COMING || held_.size() == 1 || node_.alone(driver_, task)) {
    if (cost) co_await Wait{cost};
  } else {  // no event can come between: the kernel is queued in one go
    routine.phase = END_PHASE;
    co_await Wait{later(cost, node_.overheads.kernel)};
    intake.state = Intake::EMPTY;
    queue(task);
  }
  co_return true;
}

// Queues the kernel of *task* on the device, or executes it to its end if it must be alone.
Steps<> Device::launch(int task) {
  const int worker = driver_.worker;
  if (held_.size() == 1) node_.started(task, worker);
  if (node_.alone(driver_, task)) {
    node_.ledger.of[task].start = node_.now();
    driver_.routine.phase = END_PHASE;
    node_.clock.keep_order();
    co_await Wait{node_.cost(task, worker)};
    node_.ledger.of[task].end = node_.now();
    held_.pop_front();
    co_await node_.finish(driver_, task);
    co_return;
  }
  if (node_.overheads.kernel) {
    driver_.routine.phase = END_PHASE;
    co_await Wait{node_.overheads.kernel};
  }
  queue(task);
}

// Lets the device run *task* after the queued ones.
void Device::queue(int task) {
  node_.send_for_successors(task);
  queued_.push_back(task);
  if (queued_.size() == 1) run(task);
}

void Device::run(int task) {
  node_.ledger.of[task].start = node_.now();
  node_.clock.keep_order();
  node_.clock.after(node_.cost(task, driver_.worker), END_PHASE, *this);
}

void Device::happen(i64) {
  node_.ledger.of[queued_.front()].end = node_.now();
  node_.send_for_counts(queued_.front());
  queued_.pop_front();
  ++over_;
  if (!queued_.empty()) run(queued_.front());
  driver_.routine.wake();
}

// Finishes the oldest task, which has ended on the device, and starts to launch the next.
Steps<> Device::take_back() {
  Intake &intake = *driver_.intake;
  --over_;
  const int task = held_.front();
  held_.pop_front();
  co_await node_.finish(driver_, task);
  const bool fetching = intake.state == Intake::COMING || intake.state == Intake::THERE;
  if (held_.empty() || (held_.size() == 1 && fetching)) co_return;
  const int following = held_.front();
  if (intake.state == Intake::BLOCKED && held_.size() == 1) {
    co_await launch(following);
    intake.state = Intake::EMPTY;
  } else {
    node_.started(following, driver_.worker);
  }
}

}  // namespace tasksim
