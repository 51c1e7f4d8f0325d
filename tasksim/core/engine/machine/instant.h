// Instant: the phases of its events, by number of workers or by SimGrid's steps.
#pragma once

#include "../clock.h"

namespace tasksim {

inline constexpr double SERVE_STEPS = 3.0;  // steps of a driver to the requests of its memories

// The phases of the events of one instant, the lowest first (engine/machine/instant.py). *stepwise*:
// phases are steps, and waits that begin at one instant end in reverse.
struct Instant {
  bool stepwise = false;
  double pop = 2.0;
  double per_worker = 1.0 / 65536;
  double pop_after_copy = 2.0;
  double push = PUSH_PHASE;
  double commit = COMMIT_PHASE;
  double commit_own = COMMIT_PHASE;

  double pop_phase(int worker) const { return pop + worker * per_worker; }

  // The phases under StarPU's schedulers that choose a worker at push, counted in StarPU 1.4.99.
  static Instant in_steps(int driven_memories) {
    return {true, 18.0 + 16.0 * driven_memories, 0.0, 15.0, 5.0, 60.0, 56.0};
  }
};

}  // namespace tasksim
