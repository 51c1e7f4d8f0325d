// A line of data that two threads pass to and fro (native/detour.py).
#pragma once

#include <chrono>
#include <cstdint>

namespace tasksim {

class Passes {
 public:
  // *line* holds a number, 0 at first. The thread of side 0 writes the next number when it is even,
  // that of side 1 when it is odd.
  Passes(std::uint64_t *line, int side) : line_(line), next_(static_cast<std::uint64_t>(side)) {}

  // Returns the duration of a pass in seconds, the mean of many; negative: the other thread has
  // not answered for as long as *patience_s*.
  double operator()(double patience_s) {
    const auto begun = Clock::now();
    const auto until = begun + std::chrono::duration<double>(patience_s);
    for (int turn = 0; turn < TURNS; ++turn) {
      for (int reads = 1; __atomic_load_n(line_, __ATOMIC_ACQUIRE) != next_; ++reads)
        if (reads % READS_PER_CLOCK == 0 && Clock::now() > until) return -1.0;
      __atomic_store_n(line_, next_ + 1, __ATOMIC_RELEASE);
      next_ += 2;
    }
    return std::chrono::duration<double>(Clock::now() - begun).count() / (2 * TURNS);
  }

 private:
  using Clock = std::chrono::steady_clock;

  static constexpr int TURNS = 50;  // 3 to 20 us: more than a clock with steps of 40 ns needs
  static constexpr int READS_PER_CLOCK = 1000;

  std::uint64_t *line_;
  std::uint64_t next_;
};

}  // namespace tasksim
