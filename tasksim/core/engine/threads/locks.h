// Locks of data: threads that find one taken try again, and then whenever the time advances.
#pragma once

#include <span>
#include <vector>

#include "kernel.h"

namespace tasksim::threads {

// Which data are locked (StarPU's spinlocks, common/thread.h). Who finds one taken waits *patience*
// ticks and then for each advance of the time, which *kernel* signals. Those that wait look one after
// the other: each holds the mutex of the condition then.
class DataLocks {
 public:
  DataLocks(i64 patience, int handles, Kernel &kernel)
      : patience_(patience), taken_(handles, false) {
    kernel.advances.push_back(&advance_);
  }
  DataLocks(const DataLocks &) = delete;

  // Locks *handle* if it is free; whether it was.
  bool try_take(int handle) {
    if (taken_[handle]) return false;
    return taken_[handle] = true;
  }

  // Locks *handle*, as soon as it is free.
  Steps<> take(int handle) {
    if (try_take(handle)) co_return;
    co_await Wait{patience_};
    if (try_take(handle)) co_return;
    co_await mutex_;
    while (!try_take(handle)) co_await wait_;
    co_await mutex_;
  }

  // Unlocks *handle*.
  void give(int handle) { taken_[handle] = false; }

  // Locks *handle* for no longer than a look at it takes.
  Steps<> touch(int handle) {
    co_await take(handle);
    give(handle);
  }

  // Locks the data of a task, one after the other.
  Steps<> touch_all(std::span<const Need> needs) {
    for (const Need &need : needs) co_await touch(need.handle);
  }

 private:
  i64 patience_;
  std::vector<bool> taken_;  // per datum
  Mutex mutex_;
  Condition advance_;
  WaitFor wait_{advance_, mutex_};
};

}  // namespace tasksim::threads
