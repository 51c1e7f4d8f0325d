// Threads: a machine as StarPU-SimGrid runs it, wired from a kernel, workers, locks and loops.
#pragma once

#include <memory>

#include "../machine/node.h"
#include "kernel.h"
#include "workers.h"

namespace tasksim::threads {

// The threads of *node*'s workers and the main thread, and their shared state. Waits that begin at
// one instant of the clock, and end at one, must end in reverse order.
class Threads {
 public:
  // *shared* runs them with those of other nodes; null: a kernel of their own does.
  Threads(Node &node, Kernel *shared);
  ~Threads();

  // A new thread without steps.
  std::unique_ptr<Routine> actor() { return std::make_unique<Actor>(node_.clock, kernel); }

  // Lets the workers begin; they sleep until the first task is submitted.
  void begin();

  // Lets at most *most* simcalls and events happen; returns whether any are left.
  bool run(i64 most) {
    return kernel.run(most, [this] { return node_.ledger.done(); });
  }

  // The bell on which the thread *routine* sleeps until it is notified.
  std::unique_ptr<Bell> bell(Routine &routine);

  // Pushes *task*, or hands it over, on the main thread or the communication thread.
  Steps<> push(int task, int released_by);

  // Wakes all workers that handle *memory*, on the communication thread.
  Steps<> tell_all(int memory);

  // Releases the tasks that waited for the communication *task*, on its thread.
  Steps<> finish_communication(int task);

 private:
  struct Parts;

  std::unique_ptr<Kernel> own_;

 public:
  Kernel &kernel;

 private:
  Node &node_;
  std::unique_ptr<Parts> parts_;  // exist from the beginning
};

}  // namespace tasksim::threads
