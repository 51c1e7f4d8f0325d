// Policies of StarPU as threads run them: which locks are taken when, by pushes and pops.
#pragma once

#include <memory>

#include "workers.h"

namespace tasksim::threads {

// How a scheduler's pushes and pops go, lock by lock.
class Policy {
 public:
  virtual ~Policy() = default;

  // Queues *task*, and wakes workers for it; *me* pushes, null: the main thread.
  virtual Steps<> push(int task, Worker *me) = 0;

  // A task for *me*, or NONE.
  virtual Steps<int> pop(Worker &me) = 0;
};

// The policy of *scheduler*, which threads know (suits.h).
std::unique_ptr<Policy> policy_of(Scheduler &scheduler, NodeView &view, Office &office,
                                  i64 patience);

}  // namespace tasksim::threads
