// Buckets of heteroprio: their tasks, and their order per architecture; learned, or given
// (schedulers/heteroprio.py).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "heteroprio_statistics.h"
#include "scheduler.h"

namespace tasksim {

// The buckets of a run; architectures are numbered.
class Buckets {
 public:
  virtual ~Buckets() = default;
  // Notes that *task* is about to be pushed.
  virtual void pushed(int /*task*/, bool /*by_submission*/) {}
  // Notes that *task* took *duration* seconds on *architecture*.
  virtual void executed(int /*task*/, int /*architecture*/, double /*duration*/) {}

  std::vector<int> bucket_of;             // per task
  std::vector<std::vector<int>> takers;   // per bucket, the architectures that take from it
  std::vector<std::vector<int>> orders;   // per architecture, the buckets from first to last
  std::vector<int> fastest;               // per bucket, the architecture
  std::vector<std::vector<double>> slow;  // per bucket and architecture: slowdown against that
};

// Buckets given by the user, which never change. Python reads the options and passes them as
// tables.
class GivenBuckets : public Buckets {
 public:
  GivenBuckets(const View &view, const Options &options, int architectures);
};

// A bucket per kernel model and set of able architectures, ordered by the run so far.
//
// Orders are computed again after each *interval* pushes; slow factors follow the measured
// durations at every push. A bucket found in between comes last. With *learned*, durations start
// from those of the kernel models, if there are any.
class LearnedBuckets : public Buckets {
 public:
  LearnedBuckets(const View &view, const Options &options, std::vector<int> architecture_of,
                 int architectures);

  void pushed(int task, bool by_submission) override;
  void executed(int task, int architecture, double duration) override;

 private:
  void number(const View &view, std::span<const i64> model_of_kernel);
  void start_from_models(const View &view);
  void find(int bucket);

  const Graph &graph_;
  std::vector<int> architecture_of_;  // per class
  i64 interval_, pushes_ = 0;
  std::vector<u64> masks_;  // per bucket, the classes that can run its tasks
  std::unique_ptr<Statistics> statistics_;
  std::vector<int> stale_;
  Statistics::Released released_;
};

}  // namespace tasksim
