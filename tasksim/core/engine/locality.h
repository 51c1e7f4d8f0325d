// Locality: charges for data that have left the cache, in the order in which tasks start.
#pragma once

#include <vector>

#include "../problem.h"

namespace tasksim {

// The cost of far data (engine/locality.py, graph/reuse.py); called once per task.
class FarCharge {
 public:
  FarCharge(const Graph &graph, const double *reach_bytes, const double *s_per_byte)
      : graph_(graph), reach_bytes_(reach_bytes), s_per_byte_(s_per_byte),
        last_(graph.handles, -INF) {}

  // Starts *task* on a worker of class *group*; returns the seconds that its far data add.
  double extra_s(int task, int group) {
    const i64 place = i64{group} * graph_.tasks + task;
    return far_bytes(task, reach_bytes_[place]) * s_per_byte_[place];
  }

 private:
  static constexpr std::int8_t SCRATCH = 6;  // private to a task: no bytes, no use of the datum

  double bytes(i64 access) const {
    if (graph_.access_mode[access] == SCRATCH) return 0.0;
    return static_cast<double>(graph_.size[graph_.access_handle[access]]);
  }

  double far_bytes(int task, double reach_bytes) {
    const i64 first = graph_.access_ptr[task], end = graph_.access_ptr[task + 1];
    const double oldest = accessed_ - reach_bytes;
    double far = 0.0;
    for (i64 k = first; k < end; ++k)
      if (last_[graph_.access_handle[k]] < oldest) far += bytes(k);
    for (i64 k = first; k < end; ++k) accessed_ += bytes(k);
    for (i64 k = first; k < end; ++k)
      if (graph_.access_mode[k] != SCRATCH) last_[graph_.access_handle[k]] = accessed_;
    return far;
  }

  const Graph &graph_;
  const double *reach_bytes_, *s_per_byte_;
  std::vector<double> last_;
  double accessed_ = 0.0;
};

// The durations of tasks on each worker, hidden from schedulers (engine/machine/node.py).
class Charges {
 public:
  Charges(const Graph &graph, const Platform &platform, const tasksim_question &question)
      : class_of_(platform.class_of), costs_(question.costs), tasks_(graph.tasks) {
    if (question.reach_bytes && question.far_s_per_byte)
      far_.emplace_back(graph, question.reach_bytes, question.far_s_per_byte);
  }

  // The duration of *task* on *worker*, in seconds, if it starts now; called once per task.
  double seconds(int task, int worker) {
    double cost_s = costs_[i64{class_of_[worker]} * tasks_ + task];
    if (!far_.empty()) cost_s += far_[0].extra_s(task, class_of_[worker]);
    return cost_s;
  }

 private:
  std::span<const std::int32_t> class_of_;
  const double *costs_;
  int tasks_;
  std::vector<FarCharge> far_;  // at most one
};

}  // namespace tasksim
