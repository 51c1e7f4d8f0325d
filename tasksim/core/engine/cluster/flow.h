// Flow: a message under way (engine/cluster/flows.py).
#pragma once

#include <vector>

#include "../clock.h"
#include "shares.h"

namespace tasksim::cluster {

class Flows;

// Two lines of the cache, the first with all that its neighbours ask for.
struct alignas(64) Flow : Awaiting {
  void happen(i64) override;  // after the latency of its way
  void soon(i64, int turns) const override;

  const Way *way = nullptr;
  i64 number = 0;                     // in the order of their entering; 0: it has not
  double share = 0.0, settled = 0.0;  // bytes per tick: what it has, and is to have
  double level = 0.0;                 // its share / weight
  int stop = AT_LIMIT;                // the link that holds it back
  int place = -1;                     // among the ends; none
  bool inside = false;                // the region that is settled

  Flows *flows = nullptr;
  double factor = 0.0, remaining = 0.0;  // of what its share moves; bytes
  i64 since = 0;
  Awaiting *who = nullptr;
  i64 value = 0;
};

// A link, with the flows on it in the order of their numbers.
struct alignas(64) Link {
  struct Taken {
    Flow *flow;
    double of_byte;
  };

  bool can_be_full() const { return demand > capacity * SLACK; }
  bool was_full() const { return before > capacity * SLACK; }

  static constexpr double SLACK = 1 + 1e-12;  // sums are rounded

  std::vector<Taken> on;
  double capacity = 0.0;
  double demand = 0.0;  // what they would take of it if nothing else held them back
  double before = 0.0;  // that, when they began to change in this instant
  i64 looked_at = 0;    // the filling that has last asked whether it can be full
  int place = -1;       // and where it has it; nowhere
  bool changed = false;
};

}  // namespace tasksim::cluster
