// Drivers: the loops of cores and devices as threads, poll by poll.
#pragma once

#include <deque>

#include "ends.h"

namespace tasksim::threads {

// Common part of the loops of cores and devices. The numbers of simcalls were counted, as in Ends.
class Loop {
 public:
  Loop(Node &node, Copying &copying, DataLocks &locks, Policy &policy, Ends &ends)
      : node(node), copying(copying), locks(locks), policy(policy), ends(ends) {}

  // Asks the scheduler for a task, within a scheduling operation.
  Steps<int> ask(Worker &me);

  // Notes whether *me* has found work.
  Steps<> note(Worker &me, bool found);

  Node &node;
  Copying &copying;
  DataLocks &locks;
  Policy &policy;
  Ends &ends;
  Mutex contexts;  // lock of the context of all workers
};

// The loop of a core: drivers/cpu/driver_cpu.c.
class CoreLoop {
 public:
  CoreLoop(Loop &loop, Worker &me) : loop_(loop), me_(me) {}

  // Asks for a task, waits for its data, runs it, finishes it; for ever.
  Steps<> calls();

 private:
  Steps<int> get_task();
  Steps<> wait_for_data();

  Loop &loop_;
  Worker &me_;
};

// The loop of a device's worker: drivers/cuda/driver_cuda.c.
class DeviceLoop : public Awaiting {
 public:
  DeviceLoop(Loop &loop, Worker &me, Office &office, Kernel &kernel)
      : loop_(loop), me_(me), office_(office), kernel_(kernel) {}

  // Repeats the loop for ever.
  Steps<> calls();
  void happen(i64) override;  // the running kernel has ended

 private:
  struct Got {
    int task = NONE;
    bool found = false;
  };

  Steps<Got> get_task();
  Steps<> data_there();
  Steps<> launch(int task);
  void run(int task);
  Steps<> take_back();

  Loop &loop_;
  Worker &me_;
  Office &office_;
  Kernel &kernel_;
  std::deque<int> held_;  // popped and unfinished tasks, the oldest first; the intake's last
  std::deque<int> queued_;  // those of them whose kernels are queued or run: the first
  i64 over_ = 0;            // number of the oldest that have ended on the device
};

}  // namespace tasksim::threads
