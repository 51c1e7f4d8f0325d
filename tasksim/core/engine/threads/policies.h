// Policies of StarPU in threads: the locks that pushes and pops take.
#pragma once

#include <memory>

#include "workers.h"

namespace tasksim::threads {

// A scheduler's pushes and pops, lock by lock.
class Policy {
 public:
  virtual ~Policy() = default;

  // Queues *task*, and wakes workers for it; *me* pushes, null: the main thread.
  virtual Steps<> push(int task, Worker *me) = 0;

  // A task for *me*, or NONE.
  virtual Steps<int> pop(Worker &me) = 0;
};

// The threads' variant of *scheduler* (suits.h).
std::unique_ptr<Policy> policy_of(Scheduler &scheduler, NodeView &view, Office &office,
                                  i64 patience);

}  // namespace tasksim::threads
