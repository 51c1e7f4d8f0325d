// Homes of data where access to memory is non-uniform (engine/numa.py).
#pragma once

#include <vector>

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
  static constexpr std::int8_t R = 1, SCRATCH = 6;
  static constexpr int NO_HOME = -1, OVER_ALL = -2;

  int place(double size, int domain);
  bool cached(int handle, int domain) const;
  void keep(int task, double total, int domain);

  const Distances &distances_;
  const Graph &graph_;
  const int domains_;
  std::vector<int> home_;                  // per handle
  std::vector<double> room_;               // per domain
  std::vector<std::vector<int>> nearest_;  // per domain all domains, itself first, then by distance
  std::vector<double> accessed_;           // per domain, bytes
  std::vector<double> last_;  // domains x handles, bytes accessed up to the last access; or empty
};

}  // namespace tasksim
