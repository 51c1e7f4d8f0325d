// Sleepers: the sleeping workers, with fast access to the first that can run a task.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "../problem.h"

namespace tasksim {

// The set of sleeping workers, at first all. As in runtime/sleepers.py, a worker woken by number
// stays in the heap of its class until it comes up.
class Sleepers {
 public:
  explicit Sleepers(const Platform &platform)
      : asleep(platform.workers, true),
        class_of_(platform.class_of),
        heaps_(platform.class_workers),
        listed_(platform.workers, true) {}

  void sleep(int worker) {
    asleep[worker] = true;
    if (listed_[worker]) return;
    listed_[worker] = true;
    auto &heap = heaps_[class_of_[worker]];
    heap.push_back(worker);
    std::push_heap(heap.begin(), heap.end(), std::greater<>{});
  }

  // The sleeping worker of lowest number among the classes in the mask *able*; -1: none sleeps.
  int first(u64 able) {
    int best = -1;
    for (std::size_t group = 0; group < heaps_.size(); ++group) {
      if (!(able >> group & 1)) continue;
      auto &heap = heaps_[group];
      while (!heap.empty() && !asleep[heap.front()]) {
        listed_[heap.front()] = false;
        std::pop_heap(heap.begin(), heap.end(), std::greater<>{});
        heap.pop_back();
      }
      if (!heap.empty() && (best < 0 || heap.front() < best)) best = heap.front();
    }
    return best;
  }

  // A candidate for the first, of the first class, to prefetch.
  int likely() const { return heaps_.front().empty() ? -1 : heaps_.front().front(); }

  // All of them, by number.
  std::vector<int> all(u64 able) {
    std::vector<int> found;
    for (std::size_t group = 0; group < heaps_.size(); ++group) {
      auto &heap = heaps_[group];
      if (heap.empty() || !(able >> group & 1)) continue;
      for (const int worker : heap) listed_[worker] = asleep[worker];
      std::erase_if(heap, [this](int worker) { return !asleep[worker]; });
      std::sort(heap.begin(), heap.end());
      found.insert(found.end(), heap.begin(), heap.end());
    }
    std::sort(found.begin(), found.end());
    return found;
  }

  std::vector<char> asleep;

 private:
  std::span<const std::int32_t> class_of_;
  std::vector<std::vector<int>> heaps_;
  std::vector<char> listed_;
};

}  // namespace tasksim
