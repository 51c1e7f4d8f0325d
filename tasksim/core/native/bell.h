// Bell: on which a worker sleeps until it is rung.
#pragma once

#include <atomic>

#include "lock.h"

namespace tasksim {

// Each on a cache line of its own: rung by another worker, read in a loop by the one that waits.
class alignas(64) Bell {
 public:
  // Before the worker sleeps, and before anybody may ring for it.
  void silence() { rung_.store(0); }

  void ring() {
    rung_.store(1);
    rung_.notify_one();
  }

  // Returns when it is rung. Looks for it for *spin* first: as long as the system takes to wake a
  // thread, so that who waits longer has lost no more than as much again.
  void wait(std::chrono::nanoseconds spin) {
    if (spin.count()) {
      const auto until = Clock::now() + spin;
      do
        for (int k = 0; k < LOOKS; ++k) {
          if (rung_.load(std::memory_order_acquire)) return;
          pause();
        }
      while (Clock::now() < until);
    }
    rung_.wait(0);
  }

 private:
  static constexpr int LOOKS = 16;  // between two looks at the clock, which cost as much as one

  std::atomic<int> rung_{0};
};

}  // namespace tasksim
