// Accesses of running tasks to the memories of all domains, where access is non-uniform
// (engine/machine/traffic.py).
#pragma once

#include <vector>

#include "../slowing.h"

namespace tasksim {

// The task on a worker: its kind, its domain and its shares of accesses, as Homes has them.
struct Placed {
  int place, kind, domain;
  std::span<const double> shares;
};

// Accesses of the running tasks to the memories of all domains.
class Traffic {
 public:
  explicit Traffic(const Slowing &slowing);  // which must outlive it

  // Computes the stretch of each of these tasks, and that with all data in its own domain.
  void settle(const std::vector<Placed> &tasks);

  std::vector<double> stretches, local;  // per task

 private:
  double load(int domain, double asked, double cores) const;

  const Slowing &slowing_;
  const int domains_;
  std::vector<std::vector<int>> counts_;     // per domain and kind
  std::vector<std::vector<double>> alone_;   // the same
  std::vector<double> own_asked_, own_cores_, asked_, cores_, near_;
  std::vector<double> crossing_, excess_;    // domains x domains
};

}  // namespace tasksim
