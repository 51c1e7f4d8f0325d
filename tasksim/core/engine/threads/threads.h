// Threads: a machine as StarPU-SimGrid runs it, wired of a kernel, workers, locks and loops
// (engine/threads/threads.py).
#pragma once

#include <memory>

#include "../machine/node.h"
#include "kernel.h"

namespace tasksim::threads {

// The threads of *node*'s workers and the main thread, and what they share. Waits that begin at one
// instant of its clock, and end at one, must end last begun first in it.
class Threads {
 public:
  explicit Threads(Node &node);
  ~Threads();

  // A new thread, which does nothing yet.
  std::unique_ptr<Routine> actor() { return std::make_unique<Actor>(node_.clock, kernel); }

  // Lets the workers begin; they sleep until the first task is submitted.
  void begin();

  // Lets at most so many simcalls and events happen; returns whether any are left.
  bool run(i64 most) {
    return kernel.run(most, [this] { return node_.ledger.done(); });
  }

  // Pushes *task* on the main thread.
  Steps<> push(int task, int released_by);

  Kernel kernel;

 private:
  struct Parts;

  Node &node_;
  std::unique_ptr<Parts> parts_;  // there since the beginning
};

}  // namespace tasksim::threads
