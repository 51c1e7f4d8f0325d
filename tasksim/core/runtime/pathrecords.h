// Path records: the practical critical path of every worker, kept while a run goes on.
//
// As runtime/pathrecords.py: the later record of what a start waited for is kept, the other dropped.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "../problem.h"

namespace tasksim {

// What is on a path so far: how many tasks per kind, what they took, and what was between them.
struct PathRecord {
  double end = 0.0, waited = 0.0;
  std::vector<i64> counts;
  std::vector<double> seconds;

  void then(int kind, double start, double stop) {
    ++counts[kind];
    seconds[kind] += stop - start;
    waited += start - end;
    end = stop;
  }
};

// The records of the workers of one run, and those that wait with released tasks.
class PathRecords {
 public:
  using Shared = std::shared_ptr<const PathRecord>;

  // *kinds*: what each task is counted as, below *count*; they stay where they are.
  PathRecords(std::span<const std::int32_t> kinds, int count, int workers)
      : kinds_(kinds),
        empty_(std::make_shared<PathRecord>(
            PathRecord{0.0, 0.0, std::vector<i64>(count), std::vector<double>(count)})),
        longest(empty_),
        own_(workers, empty_),
        carried_(kinds.size()) {}

  // The record of what the start of *task* on *worker* waits for: the worker, if that was busy
  // after the task was ready, else who released it.
  const Shared &before(int task, int worker, double ready) const {
    const Shared &own = own_[worker], &carried = carried_[task];
    return own->end > ready ? own : carried ? carried : empty_;
  }

  void ended(int task, int worker, double ready, double start, double end,
             std::span<const int> releases) {
    auto record = std::make_shared<PathRecord>(*before(task, worker, ready));
    record->then(kinds_[task], start, end);
    carried_[task].reset();
    if (end > longest->end) longest = record;
    for (const int released : releases) carried_[released] = record;
    own_[worker] = std::move(record);
  }

  // Writes that of the task that ended last.
  void write(i64 *counts, double *seconds, double *end_waited) const {
    std::copy(longest->counts.begin(), longest->counts.end(), counts);
    std::copy(longest->seconds.begin(), longest->seconds.end(), seconds);
    end_waited[0] = longest->end;
    end_waited[1] = longest->waited;
  }

 private:
  std::span<const std::int32_t> kinds_;
  Shared empty_;

 public:
  Shared longest;  // that of the task that ended last, of those that have ended

 private:
  std::vector<Shared> own_, carried_;  // per worker, per task
};

}  // namespace tasksim
