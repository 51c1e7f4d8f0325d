// Path records: the practical critical path of every worker, kept during a run.
//
// The same as runtime/pathrecords.py: a start keeps the later of the records that it waited for.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "../problem.h"

namespace tasksim {

// A path so far: number of tasks per kind, their total duration, and the time between them.
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

// The records of the workers of one run, and those of released tasks.
class PathRecords {
 public:
  using Shared = std::shared_ptr<const PathRecord>;

  // *kinds* has the kind of each task, below *count*; the caller keeps the array.
  PathRecords(std::span<const std::int32_t> kinds, int count, int workers)
      : kinds_(kinds),
        empty_(std::make_shared<PathRecord>(
            PathRecord{0.0, 0.0, std::vector<i64>(count), std::vector<double>(count)})),
        longest(empty_),
        own_(workers, empty_),
        carried_(kinds.size()) {}

  // The record that the start of *task* on *worker* continues: the worker's, if it was busy after
  // the task was ready, else that of the task's releaser.
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

  // Writes the record of the task that ended last.
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
  Shared longest;  // of the ended task with the latest end

 private:
  std::vector<Shared> own_, carried_;  // per worker, per task
};

}  // namespace tasksim
