// Pool: the allocations in one memory of a device, in chunks or in blocks kept for reuse.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "../../problem.h"

namespace tasksim {

// Number of allocations and releases of the driver for a block.
struct DriverCalls {
  i64 allocations = 0, releases = 0;
};

// The allocator of a memory of *limit* bytes (engine/data/pool.py).
class Pool {
 public:
  Pool(double limit, const tasksim_platform &platform);

  // Whether blocks of *sizes* fit together in the empty memory.
  bool fits(std::span<const i64> sizes) const;

  std::optional<DriverCalls> allocate(i64 size);
  void give_back(i64 size);

 private:
  i64 units_of(double size) const;
  std::optional<DriverCalls> allocate_units(i64 units);
  std::optional<DriverCalls> allocate_alone(double size);
  void scrape_together(i64 units);
  i64 release_kept(double size);

  double unit_, largest_, room_, limit_;
  i64 chunk_units_;
  std::vector<i64> chunks_;   // free units of each
  i64 free_ = 0;              // free units of all together
  std::map<i64, i64> kept_;   // free large blocks by size
  double kept_bytes_ = 0.0;
};

}  // namespace tasksim
