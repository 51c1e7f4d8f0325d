// Ends: the ends of the flows in progress, at their current shares, the first on top.
//
// engine/cluster/flows.py skips outdated ends instead. With each event the ends of all flows on a
// link move, so here each flow knows its place, and has only one.
#pragma once

#include "flow.h"

namespace tasksim::cluster {

class Ends {
 public:
  bool empty() const { return ends_.empty(); }
  i64 first() const { return ends_.front().tick; }
  const Flow &first_flow() const { return *ends_.front().flow; }

  // The flows among which the next one is, when the first has ended.
  void send_for_next() const {
    for (std::size_t place = 1; place <= CHILDREN && place < ends_.size(); ++place) {
      __builtin_prefetch(ends_[place].flow, 1);
      __builtin_prefetch(reinterpret_cast<const char *>(ends_[place].flow) + 64, 1);
    }
  }

  // Sets the end of *flow* to *tick*.
  void set(Flow &flow, i64 tick) {
    const End end{tick, &flow};
    if (flow.place < 0) {
      ends_.push_back(end);
      rise(end, ends_.size() - 1);
    } else if (tick < ends_[flow.place].tick) {
      rise(end, flow.place);
    } else {
      sink(end, flow.place);
    }
  }

  // Removes and returns the flow that ends first.
  Flow &pop() {
    Flow &flow = *ends_.front().flow;
    const End last = ends_.back();
    ends_.pop_back();
    if (!ends_.empty()) sink(last, 0);
    flow.place = -1;
    return flow;
  }

 private:
  static constexpr std::size_t CHILDREN = 4;  // children of an end: four fill one cache line

  struct End {
    i64 tick;
    Flow *flow;
  };

  void put(const End &end, std::size_t place) {
    ends_[place] = end;
    end.flow->place = static_cast<int>(place);
  }

  void rise(const End &end, std::size_t place) {
    while (place) {
      const std::size_t parent = (place - 1) / CHILDREN;
      if (ends_[parent].tick <= end.tick) break;
      put(ends_[parent], place);
      place = parent;
    }
    put(end, place);
  }

  void sink(const End &end, std::size_t place) {
    const std::size_t size = ends_.size();
    for (;;) {
      std::size_t child = CHILDREN * place + 1;
      if (child >= size) break;
      const std::size_t behind = std::min(child + CHILDREN, size);
      for (std::size_t other = child + 1; other < behind; ++other)
        if (ends_[other].tick < ends_[child].tick) child = other;
      if (ends_[child].tick >= end.tick) break;
      put(ends_[child], place);
      place = child;
    }
    put(end, place);
  }

  std::vector<End> ends_;
};

}  // namespace tasksim::cluster
