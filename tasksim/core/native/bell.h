// Bell: a worker sleeps on it until it is rung.
#pragma once

#include <atomic>

#include "lock.h"

namespace tasksim {

// Each on a cache line of its own: another worker rings it, the waiting one reads it in a loop.
class alignas(64) Bell {
 public:
  // Call it before the worker sleeps, and before anybody may ring for it.
  void silence() { rung_.store(0); }

  void ring() {
    rung_.store(1);
    rung_.notify_one();
  }

  // Returns when it is rung. Spins for *spin* first, as long as the system takes to wake a thread:
  // so a thread that waits longer has lost at most twice that time.
  void wait(std::chrono::nanoseconds spin) {
    if (spin.count()) {
      const auto until = Clock::now() + spin;
      do
        for (int k = 0; k < LOOKS_PER_CLOCK_READING; ++k) {
          if (rung_.load(std::memory_order_acquire)) return;
          pause();
        }
      while (Clock::now() < until);
    }
    rung_.wait(0);
  }

 private:
  // Between two readings of the clock, which cost as much as one.
  static constexpr int LOOKS_PER_CLOCK_READING = 16;

  std::atomic<int> rung_{0};
};

}  // namespace tasksim
