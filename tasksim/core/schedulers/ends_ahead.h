// Expected ends of what would run before a task of a given priority: for dmdasd
// (schedulers/ends_ahead.py).
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "expected_ends.h"
#include "tasklists.h"

namespace tasksim {

// Tasks by priority, and how long those of each level take on this worker.
//
// *lengths*: expected durations in seconds, per task; one that is not known counts for nothing.
class WeighedTasks : public SortedTasks {
 public:
  WeighedTasks(std::span<const std::int32_t> priority, const double *lengths, ReadyFirst where)
      : SortedTasks(priority, where), lengths_(lengths) {}

  void append(int task) override {
    SortedTasks::append(task);
    const auto [work, added] = work_.try_emplace(key_of(task), length(task));
    if (!added) work->second += length(task);
  }

  int pop() override {
    const int task = SortedTasks::pop();
    if (levels_.size() < work_.size())
      work_.erase(work_.begin());
    else
      work_.begin()->second -= length(task);
    return task;
  }

  // How many tasks go before a new one of *priority*, which is neither first nor last; else NONE.
  int count_ahead(int priority) const {
    const auto end = levels_.upper_bound(key(priority));
    if (end == levels_.begin() || end == levels_.end()) return NONE;
    std::size_t count = 0;
    for (auto level = levels_.begin(); level != end; ++level) count += level->second.size();
    return static_cast<int>(count);
  }

  // How long takes what goes before a new task of *priority*, *pipeline* among it: that alone for
  // a task that would be first, and the *whole* for one that would be last.
  double ahead(int priority, double pipeline, double whole) const {
    const auto end = work_.upper_bound(key(priority));
    if (end == work_.begin()) return pipeline;
    if (end == work_.end()) return whole;
    double queued = 0.0;
    for (auto level = work_.begin(); level != end; ++level) queued += level->second;
    return pipeline + queued;
  }

 private:
  double length(int task) const { return lengths_[task] > 0.0 ? lengths_[task] : 0.0; }

  const double *lengths_;
  std::map<i64, double> work_;  // per level, how long its tasks take in seconds
};

// Expected ends of what is more urgent than a task of *priority*. Each question looks at all
// workers.
class EndsAhead : public Ends {
 public:
  using Seconds = std::vector<double>;
  using Queues = std::vector<WeighedTasks *>;

  EndsAhead(std::span<const int> workers, const Seconds &start, const Seconds &length,
            const Seconds &pipeline, const Queues &queues)
      : workers_(workers), start_(start), length_(length), pipeline_(pipeline), queues_(queues) {}

  End earliest(double now, double limit) override {
    End first{INF, -1};
    for (const int worker : workers_) {
      const double end = end_of(worker, now);
      if (end <= limit) return {end, worker};
      if (end < first.end) first = {end, worker};
    }
    return first;
  }

  double latest(double now) override {
    double latest = -INF;
    for (const int worker : workers_) latest = std::max(latest, end_of(worker, now));
    return latest;
  }

  int priority = 0;

 private:
  double end_of(int worker, double now) const {
    return std::max(start_[worker], now) +
           queues_[worker]->ahead(priority, pipeline_[worker], length_[worker]);
  }

  std::span<const int> workers_;
  const Seconds &start_, &length_, &pipeline_;
  const Queues &queues_;
};

}  // namespace tasksim
