// Homes of data where access to memory is non-uniform (engine/numa.py).
#pragma once

#include <optional>
#include <vector>

#include "reuse.h"
#include "slowing.h"

namespace tasksim {

// Homes, given out in the order in which tasks start.
class Homes {
 public:
  // Throws BadArrays. Both must outlive it.
  Homes(const Slowing &slowing, const Graph &graph);

  // Starts *task* in *domain*; sets the share of its accesses to the memory of each domain.
  void touch(int task, int domain, std::span<double> shares);

  std::vector<double> accessed_bytes;  // domains of tasks x domains of data

 private:
  static constexpr std::int8_t SCRATCH = 6;
  static constexpr int NO_HOME = -1, OVER_ALL = -2;

  int place(double size, int domain);
  bool cached(int handle, int domain) const;

  const Distances &distances_;
  const Graph &graph_;
  const int domains_;
  std::vector<int> home_;                  // per handle
  std::vector<double> room_;               // per domain
  std::vector<std::vector<int>> nearest_;  // per domain all domains, itself first, then by distance
  std::optional<ReuseTracker> caches_;     // of the domains, if they keep data of others
};

}  // namespace tasksim
