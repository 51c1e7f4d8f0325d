// dask: one stack for all; the worker that asks first gets the latest ready task
// (schedulers/dask.py).
#include <set>

#include "scheduler.h"

namespace tasksim {

namespace {

class Dask : public Scheduler {
 public:
  void attach(View &given) override {
    Scheduler::attach(given);
    ended_.assign(static_cast<std::size_t>(given.workers()), 0);
  }
  void finished(int /*task*/, int worker) override { ended_[worker] = ++ends_; }
  void push(int task) override {
    const i64 end = view->pusher == NONE ? 0 : ended_[view->pusher];
    const i64 priority = view->graph.priority[task];
    lane(view->able[task]).insert({-end, -priority, ++pushed_, task});
    if (auto *log = view->decisions.get()) log->queued(task, log->shared(), -end, -priority);
    view->wake_any(task);
  }
  int pop(int worker) override {
    const u64 bit = u64{1} << view->platform.class_of[worker];
    Lane *best = nullptr;
    for (auto &[able, tasks] : lanes_)
      if (!tasks.empty() && (able & bit) && (!best || *tasks.begin() < *best->begin()))
        best = &tasks;
    if (!best) return NONE;
    return std::get<3>(best->extract(best->begin()).value());
  }

 private:
  using Entry = std::tuple<i64, i64, i64, int>;  // as in Python
  using Lane = std::set<Entry>;

  Lane &lane(u64 able) {
    for (auto &[mask, tasks] : lanes_)
      if (mask == able) return tasks;
    return lanes_.emplace_back(able, Lane{}).second;
  }

  std::vector<std::pair<u64, Lane>> lanes_;
  std::vector<i64> ended_;  // per worker, the number of its last end
  i64 ends_ = 0, pushed_ = 0;
};

const Register dask("dask", [](const Options &) { return std::make_unique<Dask>(); });

}  // namespace

}  // namespace tasksim
