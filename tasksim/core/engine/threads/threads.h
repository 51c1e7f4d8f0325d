// Threads: a machine as StarPU-SimGrid runs it, wired of a kernel, workers, locks and loops.
#pragma once

#include <memory>

#include "../machine/node.h"
#include "kernel.h"
#include "workers.h"

namespace tasksim::threads {

// The threads of *node*'s workers and the main thread, and what they share. Waits that begin at one
// instant of its clock, and end at one, must end last begun first in it.
class Threads {
 public:
  // Run by *shared*, as those of other nodes are, or, if it is null, by a kernel of their own.
  Threads(Node &node, Kernel *shared);
  ~Threads();

  // A new thread, which does nothing yet.
  std::unique_ptr<Routine> actor() { return std::make_unique<Actor>(node_.clock, kernel); }

  // Lets the workers begin; they sleep until the first task is submitted.
  void begin();

  // Lets at most so many simcalls and events happen; returns whether any are left.
  bool run(i64 most) {
    return kernel.run(most, [this] { return node_.ledger.done(); });
  }

  // What the thread *routine* may sleep on until it is notified.
  std::unique_ptr<Bell> bell(Routine &routine);

  // Pushes *task*, or hands it over, on the main thread or that of communication.
  Steps<> push(int task, int released_by);

  // Wakes all who look after *memory*, on the thread of communication.
  Steps<> tell_all(int memory);

  // Releases what waited for the communication *task*, on its thread.
  Steps<> finish_communication(int task);

 private:
  struct Parts;

  std::unique_ptr<Kernel> own_;

 public:
  Kernel &kernel;

 private:
  Node &node_;
  std::unique_ptr<Parts> parts_;  // there since the beginning
};

}  // namespace tasksim::threads
