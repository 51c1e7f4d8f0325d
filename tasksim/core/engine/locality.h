// Locality: charges for data that have left the cache, in the order in which tasks start.
#pragma once

#include <algorithm>
#include <vector>

#include "reuse.h"

namespace tasksim {

// The cost of far data (engine/locality.py); called once per task.
class FarCharge {
 public:
  // Throws BadArrays.
  FarCharge(const Graph &graph, const Platform &platform, const tasksim_far &far)
      : graph_(graph), far_(far), uses_(graph, caches(platform, far)) {
    if (!far.near_bytes || !far.reach_bytes || !far.read_s_per_byte || !far.written_s_per_byte)
      throw BadArrays{};
  }

  // Starts *task* on *worker*, of class *group*; returns the seconds that its far data add.
  double extra_s(int task, int group, int worker) {
    const i64 place = i64{group} * graph_.tasks + task;
    const double near_bytes = far_.near_bytes[place], reach_bytes = far_.reach_bytes[place];
    const int cache = far_.cache_of ? far_.cache_of[worker] : 0;
    double read = 0.0, written = 0.0;
    for (i64 k = graph_.access_ptr[task]; k < graph_.access_ptr[task + 1]; ++k) {
      const double distance = uses_.distance(graph_.access_handle[k], cache);
      if (distance <= near_bytes) continue;
      double bytes = uses_.bytes(k);
      if (distance < reach_bytes)
        bytes = bytes * (distance - near_bytes) / (reach_bytes - near_bytes);
      (uses_.writes(k) ? written : read) += bytes;
    }
    uses_.use(task, cache);
    return read * far_.read_s_per_byte[place] + written * far_.written_s_per_byte[place];
  }

 private:
  static int caches(const Platform &platform, const tasksim_far &far) {
    if (!far.cache_of) return 1;
    const std::span<const std::int32_t> of(far.cache_of, std::size_t(platform.workers));
    if (of.empty() || std::ranges::min(of) < 0 || std::ranges::max(of) >= platform.workers + 1)
      throw BadArrays{};
    return std::ranges::max(of) + 1;
  }

  const Graph &graph_;
  const tasksim_far far_;
  ReuseTracker uses_;
};

// The durations of tasks on each worker, hidden from schedulers (engine/machine/node.py).
class Charges {
 public:
  Charges(const Graph &graph, const Platform &platform, const tasksim_question &question)
      : class_of_(platform.class_of), costs_(question.costs), tasks_(graph.tasks) {
    if (question.far) far_.emplace_back(graph, platform, *question.far);
  }

  // The duration of *task* on *worker*, in seconds, if it starts now; called once per task.
  double seconds(int task, int worker) {
    double cost_s = costs_[i64{class_of_[worker]} * tasks_ + task];
    if (!far_.empty()) cost_s += far_[0].extra_s(task, class_of_[worker], worker);
    return cost_s;
  }

 private:
  std::span<const std::int32_t> class_of_;
  const double *costs_;
  int tasks_;
  std::vector<FarCharge> far_;  // at most one
};

}  // namespace tasksim
