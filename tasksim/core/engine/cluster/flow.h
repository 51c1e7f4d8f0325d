// Flow: a message in progress (engine/cluster/flows.py).
#pragma once

#include <vector>

#include "../clock.h"
#include "shares.h"

namespace tasksim::cluster {

class Flows;

// Two cache lines, the first with all fields that its neighbours read.
struct alignas(64) Flow : Awaiting {
  void happen(i64) override;  // after the latency of its way
  void soon(i64, int turns) const override;

  const Way *way = nullptr;
  i64 number = 0;                     // in the order of their starts; 0: not started
  double share = 0.0, settled = 0.0;  // bytes per tick: current, and next
  double level = 0.0;                 // its share / weight
  int stop = AT_LIMIT;                // the link that limits it
  int place = -1;                     // place among the ends
  bool inside = false;                // whether it is in the region being settled

  Flows *flows = nullptr;
  double factor = 0.0, remaining = 0.0;  // bytes per byte of its share; bytes
  i64 since = 0;
  Awaiting *who = nullptr;
  i64 value = 0;
};

// A link, with its flows in the order of their numbers.
struct alignas(64) Link {
  struct Taken {
    Flow *flow;
    double of_byte;
  };

  bool can_be_full() const { return demand > capacity * FULL_LINK_SLACK; }
  bool was_full() const { return before > capacity * FULL_LINK_SLACK; }

  static constexpr double FULL_LINK_SLACK = 1 + 1e-12;  // sums are rounded

  std::vector<Taken> on;
  double capacity = 0.0;
  double demand = 0.0;  // bytes per tick of its flows without any other limit
  double before = 0.0;  // the same, before the changes of this instant
  i64 looked_at = 0;    // the last filling that checked whether it can be full
  int place = -1;       // its place there; or none
  bool changed = false;
};

}  // namespace tasksim::cluster
