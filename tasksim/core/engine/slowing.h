// Slowing: the stretch of tasks beside others that run on the same memory (engine/slowing.py).
#pragma once

#include <vector>

#include "../problem.h"

namespace tasksim {

// Memory domains as the tasks of each see them.
struct Distances {
  static constexpr i64 NONE = -3, OVER_ALL = -2, BY_TOUCH = -1;  // else the number of a domain

  explicit operator bool() const { return placement != NONE; }  // whether memory is non-uniform

  i64 placement = NONE;
  double cache_bytes = 0.0;
  std::span<const double> ratio, limit;  // domains x domains
  std::span<const double> room;          // per domain
};

class Slowing {
 public:
  // Throws BadArrays.
  Slowing(const tasksim_contention &given, const Graph &graph, const Platform &platform);

  // The stretch of each running kind, given the number of running tasks of each kind.
  void stretch(int domain, const std::vector<int> &counts, std::vector<double> &stretches) const;

  using Curve = std::span<const double>;

  Curve curve_of(int domain) const {
    return curve_.subspan(curve_ptr_[domain], curve_ptr_[domain + 1] - curve_ptr_[domain]);
  }
  std::span<const double> demand() const { return demand_; }  // per kind, as the next one
  std::span<const double> share() const { return share_; }

  int domains, kinds;
  std::span<const std::int32_t> domain_of, kind_of;
  Distances distances;

 private:

  double stretch_of(int kind, const std::vector<int> &counts, double asked, double busy,
                    Curve curve) const;
  double beside(int kind, int other, double neighbours, double by_memory, Curve curve) const;
  double by_memory(int kind, double asked, double busy, Curve curve) const;

  std::span<const i64> curve_ptr_, beside_ptr_;
  Curve curve_, demand_, share_, beside_;
};

}  // namespace tasksim
