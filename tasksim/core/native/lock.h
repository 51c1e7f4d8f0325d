// Lock: a thread tries it for a moment before it sleeps.
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

// Time that a waiting thread spins before it sleeps: as long as the system takes to wake a
// thread (measured: 30 to 60 us between the cores of a virtual machine).
inline constexpr std::chrono::microseconds SPIN_TIME{50};

inline double clock_s() {
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

inline std::chrono::nanoseconds seconds(double value) {
  constexpr double MAX_PATIENCE_S = 1e9;  // thirty years, within 64 bits of nanoseconds
  const double patience_s = value < MAX_PATIENCE_S ? value : MAX_PATIENCE_S;
  return std::chrono::nanoseconds(static_cast<std::int64_t>(1e9 * patience_s));
}

// Informs the core that its thread spins.
inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// The lock is held for less than a microsecond, and sleeping costs ten. So a thread first tries it
// for as long as many others could hold it, if each has a core; else the holder may have lost its
// core. A trial reads before it writes, and trials become rarer: a thread that comes back at once
// finds the lock, and the data it guards, in its own cache, which is worth more than alternating
// turns.
class Lock {
 public:
  explicit Lock(bool spins) : trials_(spins ? TRIALS : 1) {}

  void lock() {
    if (try_a_while()) return;
    while (state_.exchange(WANTED, std::memory_order_acquire) != FREE) state_.wait(WANTED);
  }

  // The same, but gives up after *patience_s*: a scheduler may never give the lock back. There are
  // naps between trials, because the thread sanitizer does not know locks with a time limit.
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
  enum State : int { FREE, HELD, WANTED };  // WANTED: held, and a thread may sleep

  static constexpr int MAX_PAUSES = 32;  // pauses between two trials: a microsecond
  static constexpr int TRIALS = 12;   // some ten microseconds in all
  static constexpr std::chrono::microseconds NAP{20};  // as long as a callback into Python

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
      pauses = std::min(2 * pauses, MAX_PAUSES);
    }
    return false;
  }

  alignas(64) std::atomic<int> state_ = FREE;  // on a cache line of its own
  alignas(64) const int trials_;
};

}  // namespace tasksim
