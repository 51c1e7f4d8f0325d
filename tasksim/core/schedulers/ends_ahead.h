// Expected ends of the tasks that would run before one of a given priority, for dmdasd
// (schedulers/dmdasd.py).
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "expected_ends.h"
#include "level_sums.h"
#include "tasklists.h"

namespace tasksim {

// Tasks by priority, and the total duration of the most urgent levels on this worker.
//
// *lengths*: expected durations in seconds, per task; an unknown one counts as 0.
class WeighedTasks : public SortedTasks {
 public:
  // *counts*: whether the numbers of tasks are needed.
  WeighedTasks(const Ranks &ranks, const double *lengths, bool counts, ReadyFirst where)
      : SortedTasks(ranks, where), lengths_(lengths), work_(ranks.count) {
    if (counts) count_.emplace(ranks.count);
  }

  void append(int task) override {
    SortedTasks::append(task);
    const int rank = rank_of_[task];
    work_.add(rank, length(task));
    if (count_) count_->add(rank, 1.0);
  }

  int pop() override {
    const int rank = levels_.first().rank;
    const int task = SortedTasks::pop();
    if (levels_.empty() || levels_.first().rank != rank)
      work_.clear(rank);
    else
      work_.add(rank, -length(task));
    if (count_) count_->add(rank, -1.0);
    return task;
  }

  // Number of tasks before a new one of *rank*, which is neither first nor last; else NONE.
  int count_ahead(int rank) const {
    if (is_first(rank) || is_last(rank)) return NONE;
    return static_cast<int>(count_->up_to(rank));
  }

  // Duration of the tasks before a new one of *rank*, with *pipeline*: only the pipeline for a task
  // that would be first, and *whole* for one that would be last.
  double ahead(int rank, double pipeline, double whole) const {
    if (is_first(rank)) return pipeline;
    if (is_last(rank)) return whole;
    return pipeline + work_.up_to(rank);
  }

 private:
  double length(int task) const { return lengths_[task] > 0.0 ? lengths_[task] : 0.0; }
  bool is_first(int rank) const { return levels_.empty() || levels_.first().rank > rank; }
  bool is_last(int rank) const { return levels_.last() <= rank; }

  const double *lengths_;
  LevelSums work_;                  // durations of tasks, in seconds
  std::optional<LevelSums> count_;  // numbers of tasks
};

// Expected ends of the tasks more urgent than *rank*. Each query looks at all workers.
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

  double end_of(int worker, double now) const override {
    return std::max(start_[worker], now) +
           queues_[worker]->ahead(rank, pipeline_[worker], length_[worker]);
  }

  int rank = 0;

 private:
  std::span<const int> workers_;
  const Seconds &start_, &length_, &pipeline_;
  const Queues &queues_;
};

}  // namespace tasksim
