// Locks of data: threads that find one taken try again, and then whenever the time advances.
#pragma once

#include <span>
#include <vector>

#include "kernel.h"

namespace tasksim::threads {

// The locked data (StarPU's spinlocks, common/thread.h). A thread that finds one taken waits
// *patience* ticks and then for each advance of the time, which *kernel* signals. Waiting threads
// check one after the other: each then holds the mutex of the condition.
class DataLocks {
 public:
  DataLocks(i64 patience, int handles, Kernel &kernel)
      : patience_(patience), taken_(handles, false) {
    kernel.advances.push_back(&advance_);
  }
  DataLocks(const DataLocks &) = delete;

  // Locks *handle* if it is free; returns whether it was.
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

  // Locks *handle* only for the time of a look at it.
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
