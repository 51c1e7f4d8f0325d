#include "drivers.h"

namespace tasksim::threads {

Steps<int> Loop::ask(Worker &me) {
  if (!me.scheduling) {
    co_await Calls{2};
    me.scheduling = true;
  }
  co_await me.mutex;
  const int popped = co_await policy.pop(me);
  const int task = popped == NONE ? NONE : node.take(popped, me.number);
  co_await me.mutex;
  co_return task;
}

Steps<> Loop::note(Worker &me, bool found) {
  if (found) {
    co_await Calls{2};
    me.scheduling = false;
  }
  if (found == me.sleeping) {
    co_await Calls{2};
    me.sleeping = !found;
  }
}

Steps<> CoreLoop::calls() {
  Node &node = loop_.node;
  Intake &intake = *me_.driver.intake;
  co_await me_.bell.sleep();
  for (;;) {
    co_await me_.bell.reset();
    co_await loop_.copying.look_after(0, &me_);
    const int task = co_await get_task();
    if (task == NONE) {
      co_await me_.bell.sleep();
      continue;
    }
    intake.expect(task);
    co_await loop_.copying.fetch(node.graph.needs[task], intake, &me_, node.overheads.fetch);
    co_await Calls{4};
    co_await wait_for_data();
    intake.state = Intake::EMPTY;
    co_await loop_.locks.touch_all(node.graph.needs[task]);
    co_await Calls{6};
    co_await loop_.contexts;
    co_await Calls{1};
    co_await loop_.contexts;
    co_await Calls{7};
    node.ledger.of[task].start = node.now();
    co_await Execution(node.cost(task, me_.number));
    node.ledger.of[task].end = node.now();
    co_await loop_.ends.finish(task, me_);
  }
}

Steps<int> CoreLoop::get_task() {
  co_await me_.mutex;
  me_.enter();
  const int task = co_await loop_.ask(me_);
  co_await loop_.note(me_, task != NONE);
  co_await me_.leave();
  co_await me_.mutex;
  co_return task;
}

Steps<> CoreLoop::wait_for_data() {
  for (;;) {
    co_await me_.bell.reset();
    if (me_.driver.intake->state == Intake::THERE) co_return;
    co_await loop_.copying.look_after(0, &me_);
    co_await me_.bell.sleep();
  }
}

Steps<> DeviceLoop::calls() {
  Node &node = loop_.node;
  Intake &intake = *me_.driver.intake;
  co_await me_.bell.sleep();
  for (;;) {
    co_await me_.bell.reset();
    if (intake.state == Intake::THERE) co_await data_there();
    if (over_) co_await take_back();
    const bool worked = co_await loop_.copying.look_after_all(&me_);
    const Got got = co_await get_task();
    if (!(worked || got.found)) co_await me_.bell.sleep();
    if (got.task != NONE) {
      held_.push_back(got.task);
      intake.expect(got.task);
      const auto needs = node.graph.needs[got.task];
      co_await loop_.copying.fetch(needs, intake, &me_, node.overheads.fetch);
      co_await Calls{4};
    }
  }
}

// Pops if there is room; returns the task, and whether there was any work.
Steps<DeviceLoop::Got> DeviceLoop::get_task() {
  co_await me_.mutex;
  me_.enter();
  int task = NONE;
  bool found = false;
  const bool room = static_cast<int>(held_.size()) < me_.driver.pipeline;
  if (room && me_.driver.intake->state == Intake::EMPTY) {
    task = co_await loop_.ask(me_);
    found = task != NONE || me_.told;
    me_.told = false;
    co_await loop_.note(me_, found);
    co_await me_.condition;
  }
  co_await me_.leave();
  co_await me_.mutex;
  co_return {task, found};
}

// Launches the newest task, unless it must be alone on the device and is not.
Steps<> DeviceLoop::data_there() {
  const int task = held_.back();
  Intake &intake = *me_.driver.intake;
  co_await loop_.locks.touch_all(loop_.node.graph.needs[task]);
  if (loop_.node.alone(me_.driver, task) && held_.size() > 1) {
    intake.state = Intake::BLOCKED;
  } else {
    intake.state = Intake::EMPTY;
    co_await launch(task);
  }
}

// Queues the kernel of *task* on the device, or executes it to its end if it must be alone.
Steps<> DeviceLoop::launch(int task) {
  Node &node = loop_.node;
  co_await Calls{held_.size() == 1 ? 16 : 10};
  if (node.alone(me_.driver, task)) {
    node.ledger.of[task].start = node.now();
    co_await Execution(node.cost(task, me_.number));
    node.ledger.of[task].end = node.now();
    held_.pop_front();
    co_await loop_.ends.finish(task, me_);
    co_return;
  }
  co_await Wait{node.overheads.kernel};
  queued_.push_back(task);
  if (queued_.size() == 1) run(task);
  co_await Calls{1};
}

void DeviceLoop::run(int task) {
  Node &node = loop_.node;
  node.ledger.of[task].start = node.now();
  node.clock.keep_order();
  node.clock.after(node.cost(task, me_.number), END_PHASE, *this);
}

void DeviceLoop::happen(i64) {
  loop_.node.ledger.of[queued_.front()].end = loop_.node.now();
  queued_.pop_front();
  ++over_;
  if (!queued_.empty()) run(queued_.front());
  kernel_.begin(office_.ended(me_));
}

// Finishes the oldest task, which has ended on the device, and starts to launch the next.
Steps<> DeviceLoop::take_back() {
  Intake &intake = *me_.driver.intake;
  --over_;
  const int task = held_.front();
  held_.pop_front();
  co_await loop_.ends.finish(task, me_);
  const bool fetching = intake.state == Intake::COMING || intake.state == Intake::THERE;
  if (held_.empty() || (held_.size() == 1 && fetching)) co_return;
  if (intake.state == Intake::BLOCKED && held_.size() == 1) {
    intake.state = Intake::EMPTY;
    co_await launch(held_.front());
  } else {
    co_await Calls{6};
  }
}

}  // namespace tasksim::threads
