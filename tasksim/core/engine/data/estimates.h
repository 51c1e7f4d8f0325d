// Estimates of copies: their durations as schedulers believe them (platform/copyestimates.py).
#pragma once

#include "copies.h"

namespace tasksim {

class CopyEstimates {
 public:
  explicit CopyEstimates(const Platform &platform)
      : memories_(platform.memories),
        fixed_(platform.given.fixed_s),
        per_byte_(platform.given.per_byte_s),
        direct_(platform.given.direct) {}

  // The expected duration of a copy, in seconds.
  double copy_s(double size, int source, int target) const {
    if (source == target || size == 0.0) return 0.0;
    const int way = source * memories_ + target;
    return fixed_[way] + size * per_byte_[way];
  }

  // The memory, of those in the mask *valid*, with the fastest way to *target*: memories with a
  // route of their own first; of equals, the lowest number.
  int nearest(u64 valid, int target, i64 size) const {
    int best = target;
    bool found = false, best_detour = false;
    double best_s = 0.0;
    for (u64 left = valid & ~bit(target); left; left &= left - 1) {
      const int memory = __builtin_ctzll(left);
      const bool detour = !direct_[memory * memories_ + target];
      const double seconds = copy_s(static_cast<double>(size), memory, target);
      if (!found || detour < best_detour || (detour == best_detour && seconds < best_s)) {
        found = true;
        best = memory;
        best_detour = detour;
        best_s = seconds;
      }
    }
    return best;
  }

  // The expected duration of copying a datum from the nearest of *valid* to *target*.
  double best_s(u64 valid, int target, i64 size) const {
    return copy_s(static_cast<double>(size), nearest(valid, target, size), target);
  }

 private:
  int memories_;
  const double *fixed_, *per_byte_;
  const std::int8_t *direct_;
};

}  // namespace tasksim
