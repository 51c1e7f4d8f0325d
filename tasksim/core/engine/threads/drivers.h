// Drivers: the loops of cores and of devices as threads go round them, poll by poll.
#pragma once

#include <deque>

#include "ends.h"

namespace tasksim::threads {

// What the loops of cores and devices share. The numbers of simcalls were counted, as those of Ends.
class Loop {
 public:
  Loop(Node &node, Copying &copying, DataLocks &locks, Policy &policy, Ends &ends)
      : node(node), copying(copying), locks(locks), policy(policy), ends(ends) {}

  // Asks the scheduler for a task, as a scheduling operation that has begun.
  Steps<int> ask(Worker &me);

  // Notes whether *me* has found something to do.
  Steps<> note(Worker &me, bool found);

  Node &node;
  Copying &copying;
  DataLocks &locks;
  Policy &policy;
  Ends &ends;
  Mutex contexts;  // the lock of what all workers belong to
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

  // Goes round the loop for ever.
  Steps<> calls();
  void happen(i64) override;  // the kernel that runs has ended

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
  std::deque<int> held_;  // the tasks popped and not finished, the oldest first; the intake's last
  std::deque<int> queued_;  // of those, the ones whose kernels the device runs, or will: the first
  i64 over_ = 0;            // how many of the oldest have ended on the device
};

}  // namespace tasksim::threads
