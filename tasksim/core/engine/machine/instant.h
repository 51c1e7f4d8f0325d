// Instant: the ranks of what happens at one, by number of workers or by SimGrid's steps.
#pragma once

#include "../clock.h"

namespace tasksim {

inline constexpr double SERVE = 3.0;  // steps of a driver to the requests that it looks after

// The ranks of what happens at one instant, the lowest first (engine/machine/instant.py).
// *stepwise*: they are steps, and waits that were begun at one instant end in reverse.
struct Instant {
  bool stepwise = false;
  double pop = 2.0;
  double per_worker = 1.0 / 65536;
  double pop_after_copy = 2.0;
  double push = PUSH;
  double commit = COMMIT;
  double commit_own = COMMIT;

  double pop_rank(int worker) const { return pop + worker * per_worker; }

  // The ranks under StarPU's schedulers that choose a worker at push: counted in StarPU 1.4.99.
  static Instant in_steps(int driven_memories) {
    return {true, 18.0 + 16.0 * driven_memories, 0.0, 15.0, 5.0, 60.0, 56.0};
  }
};

}  // namespace tasksim
