// Lock: one that is tried for a moment before the thread sleeps.
#pragma once

#include <chrono>
#include <mutex>
#include <thread>

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace tasksim {

using Clock = std::chrono::steady_clock;  // the clock of Python's perf_counter

inline std::chrono::nanoseconds seconds(double value) {
  constexpr double LONGEST = 1e9;  // thirty years, which nanoseconds in 64 bits hold
  return std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 * (value < LONGEST ? value : LONGEST)));
}

// Tells the core that its thread waits in a loop.
inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// What it guards is held for a microsecond, and to sleep costs ten: so a thread first tries for as
// long as several others could hold it, if each has a core; else the holder may have lost its own.
class Lock {
 public:
  explicit Lock(bool spins) : trials_(spins ? TRIALS : 1) {}

  void lock() {
    if (!try_a_while()) mutex_.lock();
  }

  // The same, given up after *patience_s*, for a scheduler that may never give it back. Trials with
  // naps between: the thread sanitizer does not know of locks with a time limit.
  bool lock_within(double patience_s) {
    const auto until = Clock::now() + seconds(patience_s);
    while (!try_a_while()) {
      if (Clock::now() > until) return false;
      std::this_thread::sleep_for(NAP);
    }
    return true;
  }

  void unlock() { mutex_.unlock(); }

 private:
  static constexpr int TRIALS = 200;  // of some 20 ns: as long as four tasks are handed out
  static constexpr std::chrono::microseconds NAP{20};  // what a callback into Python takes

  bool try_a_while() {
    for (int k = 0; k < trials_; ++k) {
      if (mutex_.try_lock()) return true;
      pause();
    }
    return false;
  }

  std::mutex mutex_;
  const int trials_;
};

}  // namespace tasksim
