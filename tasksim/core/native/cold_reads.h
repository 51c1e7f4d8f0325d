// Reads of data that are near, that were left alone for a while, and that are in no cache
// (native/displacement.py).
#pragma once

#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

namespace tasksim {

class ColdReads {
 public:
  // Durations in seconds.
  struct Sample {
    double near_s, after_pause_s, far_s;
  };

  explicit ColdReads(std::size_t bytes) : data_(bytes / sizeof(double), 1.0) {}

  // Whether a program may take data out of the caches.
  static constexpr bool are_known() {
#if defined(__x86_64__) || (defined(__aarch64__) && defined(__linux__))
    return true;
#else
    return false;
#endif
  }

  Sample operator()(double pause_s) {
    read();
    const double near_s = read();
    std::this_thread::sleep_for(std::chrono::duration<double>(pause_s));
    const double after_pause_s = read();
    flush();
    return {near_s, after_pause_s, read()};
  }

 private:
  using Clock = std::chrono::steady_clock;

  static constexpr std::size_t LINE = 64 / sizeof(double);

  double read() {
    const auto begun = Clock::now();
    double sum = 0.0;
    for (std::size_t at = 0; at < data_.size(); at += LINE) sum += data_[at];
    kept_ = sum;
    return std::chrono::duration<double>(Clock::now() - begun).count();
  }

  // Takes the data out of all caches.
  void flush() {
#if defined(__x86_64__)
    for (std::size_t at = 0; at < data_.size(); at += LINE) __builtin_ia32_clflush(&data_[at]);
    __builtin_ia32_mfence();
#elif defined(__aarch64__) && defined(__linux__)
    for (std::size_t at = 0; at < data_.size(); at += LINE)
      asm volatile("dc civac, %0" : : "r"(&data_[at]) : "memory");
    asm volatile("dsb ish" : : : "memory");
#endif
  }

  std::vector<double> data_;
  volatile double kept_ = 0.0;  // the compiler cannot leave out what is written here
};

}  // namespace tasksim
