// The processor time of a thread, which mostly needs no system call.
//
// While a thread keeps its core, its processor time goes on as the wall clock does.
#pragma once

#include <time.h>

#include <cstdint>

#include "../../../core/native/core_watch.h"

namespace tasksim::ompt {

inline std::uint64_t clock_ns(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(time.tv_nsec);
}

// The two clocks of one thread; only that calls it.
class ProcessorClock {
 public:
  explicit ProcessorClock(const CoreWatch& watch) : watch_(watch) {
    wall_ns_ = clock_ns(CLOCK_MONOTONIC);
    cpu_ns_ = read(wall_ns_);
  }

  std::uint64_t wall_ns() const { return wall_ns_; }
  std::uint64_t cpu_ns() const { return cpu_ns_; }

  // Moves the wall clock on, and leaves the other one.
  void look_at_wall() { wall_ns_ = clock_ns(CLOCK_MONOTONIC); }

  // Moves both clocks on. *ran* says that the thread executed a task since the last look, and did
  // not wait or look for one.
  void look(bool ran) {
    const std::uint64_t wall_ns = clock_ns(CLOCK_MONOTONIC);
    const std::uint64_t cpu_ns = keeps_core(wall_ns, ran) ? known_cpu_ns_ + (wall_ns - known_wall_ns_)
                                                          : read(wall_ns);
    wall_ns_ = wall_ns;
    if (cpu_ns > cpu_ns_) cpu_ns_ = cpu_ns;
  }

 private:
  // Longest stretch of a task without a reading. Where the kernel does not tell, other programs
  // take a core for longer; where it does, the host of a virtual machine may.
  static constexpr std::uint64_t ASSUMED_RUNNING_NS = 100'000;
  // Longest wait without a reading, if the kernel does not tell: a thread that waits may sleep.
  static constexpr std::uint64_t ASSUMED_AWAKE_NS = 5'000;
  // Longest time between two readings. Interrupts and the host take a little of each.
  static constexpr std::uint64_t LONGEST_WATCHED_NS = 1'000'000;
  static constexpr std::uint64_t LONGEST_ASSUMED_NS = 200'000;

  bool keeps_core(std::uint64_t wall_ns, bool ran) const {
    const std::uint64_t stretch_ns = wall_ns - wall_ns_, unread_ns = wall_ns - known_wall_ns_;
    if (stretch_ns > ASSUMED_RUNNING_NS) return false;
    if (watch_.works()) return unread_ns <= LONGEST_WATCHED_NS && watch_.kept();
    return unread_ns <= LONGEST_ASSUMED_NS && (ran || stretch_ns <= ASSUMED_AWAKE_NS);
  }

  // Reads the processor clock, a system call that costs as much as all else that is done for a task.
  std::uint64_t read(std::uint64_t wall_ns) {
    if (watch_.works()) watch_.watch();
    known_wall_ns_ = wall_ns;
    return known_cpu_ns_ = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  }

  const CoreWatch& watch_;
  std::uint64_t wall_ns_ = 0, cpu_ns_ = 0;
  std::uint64_t known_wall_ns_ = 0, known_cpu_ns_ = 0;
};

}  // namespace tasksim::ompt
