// Flow: a message under way (engine/cluster/flow.py).
#pragma once

#include <vector>

#include "../clock.h"
#include "shares.h"

namespace tasksim::cluster {

class Flows;

struct Flow : Awaiting {
  void happen(i64) override;  // after the latency of its way

  Flows *flows = nullptr;
  const Way *way = nullptr;
  double factor = 0.0, remaining = 0.0;  // of what its share moves; bytes
  double share = 0.0, settled = 0.0;     // bytes per tick: what it has, and is to have
  int stop = AT_LIMIT;                   // the link that holds it back
  i64 since = 0, number = 0;             // in the order of their entering; 0: it has not
  bool inside = false;                   // the region that is settled
  Awaiting *who = nullptr;
  i64 value = 0;
};

// A link, with the flows on it in the order of their numbers.
struct Link {
  struct Taken {
    Flow *flow;
    double of_byte;
  };

  std::vector<Taken> on;
  double demand = 0.0;  // what they would take of it if nothing else held them back
  double before = 0.0;  // that, when they began to change in this instant
  bool changed = false;
};

}  // namespace tasksim::cluster
