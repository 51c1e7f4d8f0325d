// Lock: one that is tried for a moment before the thread sleeps.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
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

// What it guards is held for less than a microsecond, and to sleep costs ten: so a thread first
// tries for as long as many others could hold it, if each has a core; else the holder may have lost
// its own. Trials look before they write, and become rarer: who comes back to the lock at once
// finds it, and all that it guards, in its own cache, which is worth more than turns that alternate.
class Lock {
 public:
  explicit Lock(bool spins) : trials_(spins ? TRIALS : 1) {}

  void lock() {
    if (try_a_while()) return;
    while (state_.exchange(WANTED, std::memory_order_acquire) != FREE) state_.wait(WANTED);
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

  void unlock() {
    if (state_.exchange(FREE, std::memory_order_release) == WANTED) state_.notify_one();
  }

 private:
  enum State : int { FREE, HELD, WANTED };  // wanted: held, and somebody may sleep

  static constexpr int LONGEST = 32;  // pauses between two trials: a microsecond
  static constexpr int TRIALS = 12;   // some ten microseconds in all
  static constexpr std::chrono::microseconds NAP{20};  // what a callback into Python takes

  bool try_once() {
    int free = FREE;
    return state_.load(std::memory_order_relaxed) == FREE &&
           state_.compare_exchange_strong(free, HELD, std::memory_order_acquire);
  }

  bool try_a_while() {
    int pauses = 1;
    for (int k = 0; k < trials_; ++k) {
      if (try_once()) return true;
      for (int each = 0; each < pauses; ++each) pause();
      pauses = std::min(2 * pauses, LONGEST);
    }
    return false;
  }

  alignas(64) std::atomic<int> state_ = FREE;  // on a line of the cache of its own
  alignas(64) const int trials_;
};

}  // namespace tasksim
