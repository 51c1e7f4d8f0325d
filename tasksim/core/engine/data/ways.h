// Ways between memories: one copy, or two over a third memory, and the memories that handle them.
#pragma once

#include <algorithm>
#include <vector>

#include "../../problem.h"

namespace tasksim {

inline constexpr int NOWHERE = -1;  // the source of a request for a place alone

struct Hop {
  int source, target;
};

class Ways {
 public:
  explicit Ways(const Platform &platform) : platform_(platform) {
    for (int source = 0; source < platform.memories; ++source)
      for (int target = 0; target < platform.memories; ++target)
        hops_.push_back(found(source, target));
    any_by_two_ = std::ranges::any_of(hops_, [](const auto &hops) { return hops.size() > 1; });
  }

  // The copies that bring data from *source* to *target*: one, or two over a third memory.
  const std::vector<Hop> &hops(int source, int target) const {
    return hops_[source * platform_.memories + target];
  }

  // Whether there is a way over a third memory.
  bool any_by_two() const { return any_by_two_; }

  // The memory whose driver makes this copy: a device's; of two devices, the target's.
  int handler(int source, int target) const {
    return source >= 0 && platform_.devices[source] && !platform_.devices[target] ? source : target;
  }

 private:
  std::vector<Hop> found(int source, int target) const {
    if (source != target && platform_.connects(source, target)) return {{source, target}};
    for (int middle = 0; middle < platform_.memories; ++middle)
      if (middle != source && middle != target && platform_.connects(source, middle) &&
          platform_.connects(middle, target))
        return {{source, middle}, {middle, target}};
    return {};
  }

  const Platform &platform_;
  std::vector<std::vector<Hop>> hops_;
  bool any_by_two_;
};

}  // namespace tasksim
