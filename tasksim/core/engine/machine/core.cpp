// Core: a worker that runs its tasks itself, one at a time (engine/machine/workers.py).
#include "node.h"

namespace tasksim {

Steps<> core(Node &node, Driver &driver) {
  Routine &routine = driver.routine;
  Intake &intake = *driver.intake;
  Rated *const shared = node.shared_cores();
  const i64 wakeup = node.overheads.wakeup, progress = node.overheads.progress;
  const i64 there = node.graph.there(driver.worker, node.overheads.start);
  routine.forerunner = &driver;
  routine.phase = driver.phase;
  co_await SLEEP;
  if (const i64 rest = std::max(wakeup, there - node.clock.now); rest > 0) co_await Wait{rest};
  for (;;) {
    routine.woken = false;
    routine.phase = driver.phase;
    co_await Wait{progress};
    const bool pinned = node.landing && node.landing->waiting();
    if (pinned) co_await node.landing->serve();
    const int task = node.pop(driver);
    if (task == NONE) {
      if (!routine.woken && !pinned) {
        co_await SLEEP;
        const i64 rest = std::max(wakeup, there - node.clock.now);
        if (rest > 0) co_await Wait{rest};
      }
      continue;
    }
    routine.phase = END_PHASE;
    if (node.locks.any()) co_await node.unlocked(task);
    const i64 asking = node.graph.goes_on_at_once(task) ? 0 : node.overheads.task;
    const i64 overhead = intake.fetch(task) + asking;
    if (overhead) {
      node.send_for_successors(task);
      // A wait for each datum: the second one reverses the order of the first.
      if (node.instant.stepwise && node.graph.needs[task].size() % 2 == 0) node.clock.keep_order();
      co_await Wait{overhead};
    }
    while (intake.state == Intake::COMING) {
      routine.woken = false;
      co_await SLEEP;
      if (progress) co_await Wait{progress};
    }
    node.ledger.of[task].start = node.now();
    overhead ? node.send_for_counts(task) : node.send_for_successors(task);
    node.started(task, driver.worker);
    driver.task = task;
    const i64 cost = node.cost(task, driver.worker);
    if (node.rate && node.rate->begin(task, driver.worker, cost, routine)) {
      while (!node.rate->over(driver.worker)) co_await SLEEP;
    } else {
      node.clock.keep_order();
      if (shared)
        co_await shared->run(cost, routine);
      else
        co_await Wait{cost};
    }
    node.ledger.of[task].end = node.now();
    if (node.prompt)
      node.finish_at_once(driver.worker, task);
    else
      co_await node.finish(driver, task);
  }
}

}  // namespace tasksim
