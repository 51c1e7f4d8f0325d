// Chooser: decides whether a task of a selective run is executed or charged its known mean.
//
// The same sums in the same order as selective/policies.py and statistics.py.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "../runtime/pathrecords.h"

namespace tasksim {

class Chooser {
 public:
  // Throws BadArrays. New measurements are written to the statistics in *given*.
  Chooser(const tasksim_selection &given, int tasks, int workers);

  // The charge of *task*, which starts at *now*; none: it has to be executed.
  std::optional<double> charge(int task, int worker, const PathRecord &before, double now);
  void measured(int task, double seconds);

  std::span<const std::int32_t> of_task() const { return of_task_; }
  int kernels() const { return kernels_; }

 private:
  // The statistics of a kernel with its parameters, and its occurrences in this run.
  struct Known {
    i64 occurs = 0, met = 0, begun = 0, before = 0, count = 0;
    double mean = 0.0, squares = 0.0;
    double needed = INF;  // samples that make a single mean known
    double charged = 0.0;
    bool told = false;    // known from other sizes
  };

  void look(Known &known);
  bool wants(const Known &known, double needed) const;
  double times(int place, int worker, const PathRecord &before, double now);
  double share(int place, const PathRecord &before, double now) const;

  std::span<const std::int32_t> of_task_;
  std::span<const double> quantiles_;
  std::span<i64> counts_;
  std::span<double> means_, squares_;
  std::span<const i64> profile_;
  const int kernels_, workers_;
  const tasksim_counts kind_;
  const bool spread_;
  const i64 least_;
  const double tolerance_;
  double work_ = 0.0;  // total charge of all tasks with known kernels
  std::vector<Known> known_;
  std::vector<i64> met_by_;  // workers x kernels
};

}  // namespace tasksim
