// Chooser: decides whether a task of a selective run is executed or charged its known mean.
//
// The same sums and draws in the same order as selective/policies.py, statistics.py and charges.py.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "../runtime/pathrecords.h"
#include "../schedulers/twister.h"

namespace tasksim {

class Chooser {
 public:
  // Throws BadArrays. New measurements are written to the arrays in *given*.
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
    std::vector<double> samples, deck;  // deck: samples that are left to be drawn
    double stretch = 1.0;               // of a sample's distance from the mean
    double needed = INF;  // samples that make a single mean known
    double charged = 0.0;
    bool told = false;    // known from other sizes
  };

  void add(Known &known, double seconds);
  void look(Known &known);
  double draw(Known &known);
  bool wants(const Known &known, double needed) const;
  double times(int place, int worker, const PathRecord &before, double now);
  double share(int place, const PathRecord &before, double now) const;

  std::span<const std::int32_t> of_task_;
  std::span<const double> quantiles_;
  std::span<const i64> profile_;
  i64 &measured_;
  std::span<std::int32_t> measured_task_;
  std::span<double> measured_s_;
  const int kernels_, workers_;
  const tasksim_counts kind_;
  const bool spread_, draws_;
  Twister twister_;
  const i64 least_;
  const double tolerance_;
  double work_ = 0.0;  // total charge of all tasks with known kernels
  std::vector<Known> known_;
  std::vector<i64> met_by_;  // workers x kernels
};

}  // namespace tasksim
