// Pulse of a core: whether another hyper-thread of the core works (native/pulse.py).
//
// No account of the system shows who uses the other hyper-thread of a core: on a virtual machine it
// belongs to somebody else. But two threads share what the core issues in a cycle. Work that fills
// all of it takes up to twice as long beside another thread, and work that waits for itself takes
// hardly longer. Their ratio, the pulse, does not depend on the frequency of the core. The duration of
// the work that waits, the beat, does: it tells of both.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "../tasksim_core.h"

namespace tasksim {

using Reading = tasksim_reading;

class Pulse {
 public:
  // Reads the pulse and the beat of this thread's core; 1.5 us. Both works are done twice: first a
  // few steps, which fill the caches, then those that count. A duration is the mean of what a clock
  // with steps of 10 to 40 ns, as many have, tells of it: the shorter of two would be too short by
  // part of a step. All callers share this code: another placement or order of instructions would
  // have another ratio.
  [[gnu::noinline]] Reading operator()() {
    double full_s = 0.0, waiting_s = 0.0;
    for (const int steps : {FIRST_STEPS, STEPS}) {
      const auto begun = Clock::now();
      fill(2 * steps);
      const auto filled = Clock::now();
      wait(steps);
      const auto waited = Clock::now();
      full_s = between_s(begun, filled);
      waiting_s = between_s(filled, waited);
    }
    waiting_s = std::max(waiting_s, SHORTEST_S);
    return {full_s / waiting_s, waiting_s};
  }

 private:
  using Clock = std::chrono::steady_clock;

  static constexpr double SHORTEST_S = 1e-9;  // of a clock that stands still
  static constexpr int FIRST_STEPS = 20;  // 0.1 us
  static constexpr int STEPS = 180;       // 0.7 us of work that fills the core, 0.4 us of the other
  static constexpr int INPUTS = 64;       // 512 bytes, which stay in the nearest cache

  static double between_s(Clock::time_point begin, Clock::time_point end) {
    return std::chrono::duration<double>(end - begin).count();
  }

  // Loads, products, sums and integers that do not depend on each other.
  void fill(int steps) {
    double sum[8] = {};
    std::uint64_t number = 1;
    for (int step = 0; step < steps; ++step) {
      const volatile double *in = inputs_ + (step * 8 & (INPUTS - 1));
      for (int lane = 0; lane < 8; ++lane) sum[lane] += in[lane] * in[7 - lane];
      number = number * 6364136223846793005u + static_cast<std::uint64_t>(step);
    }
    for (const double each : sum) kept_ = kept_ + each;
    number_ = number;
  }

  // A chain in which each step needs the one before.
  void wait(int steps) {
    double value = 1.0 + kept_;
    for (int step = 0; step < steps; ++step) value = value * 0.9999999 + 1e-9;
    last_ = value;
  }

  alignas(64) double inputs_[INPUTS] = {};
  // The compiler cannot leave out what is written here.
  volatile double kept_ = 0.0, last_ = 0.0;
  volatile std::uint64_t number_ = 0;
};

}  // namespace tasksim
