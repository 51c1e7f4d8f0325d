// View of a native run: the wall clock, and the sleeping workers (native/view.py).
#pragma once

#include "../schedulers/scheduler.h"
#include "bell.h"

namespace tasksim {

// The scheduler's view of the executing threads; all calls are under the run's lock. All workers
// share one memory, so no data are missing and none are copied.
class ThreadsView : public View {
 public:
  ThreadsView(const Graph &graph, const Platform &platform, const double *costs)
      : View(graph, platform), asleep(platform.workers, false), bells(platform.workers) {
    estimates = costs;
    const u64 everywhere = ~u64{0} >> (MAX_CLASSES - platform.classes);
    able.assign(graph.tasks, everywhere);
  }

  // The time at which the lock was taken: all that is done under it counts as done at that instant.
  // Reading the clock for each step would take as long as the steps.
  double now() const override { return instant_s; }
  bool sleeping(int worker) const override { return asleep[worker]; }

  void wake(int worker) override {
    if (!asleep[worker]) return;
    asleep[worker] = false;
    --sleepers;
    woken.push_back(worker);
  }

  void wake_any_of(u64 classes) override {
    for (int worker = 0; sleepers && worker < workers(); ++worker)
      if (asleep[worker] && (classes >> platform.class_of[worker] & 1)) return wake(worker);
  }

  void wake_all_of(u64 classes) override {
    for (int worker = 0; sleepers && worker < workers(); ++worker)
      if (asleep[worker] && (classes >> platform.class_of[worker] & 1)) wake(worker);
  }

  // Called by the threads, not the scheduler

  double clock_s() const { return tasksim::clock_s() - origin_s; }

  void fall_asleep(int worker) {
    asleep[worker] = true;
    ++sleepers;
    bells[worker].silence();
  }

  bool all_asleep() const { return sleepers == workers(); }

  double origin_s = 0.0;          // start of the clock, on the system's clock
  double instant_s = 0.0;         // time at which the lock was taken
  std::vector<std::int8_t> asleep;  // per worker
  int sleepers = 0;
  std::vector<int> woken;         // their bells are rung after the lock is given back
  std::vector<Bell> bells;
};

}  // namespace tasksim
