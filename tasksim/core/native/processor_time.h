// Processor time of a worker's tasks: for how long its thread had a core (native/processor_time.py).
#pragma once

#include <time.h>

#if defined(__linux__)
#include <pthread.h>
#include <sys/resource.h>
#endif

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace tasksim {

// The processor time of this thread in seconds; NaN where there is no such clock.
inline double thread_cpu_s() {
#if defined(CLOCK_THREAD_CPUTIME_ID)
  timespec time;
  if (!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time))
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
#endif
  return std::numeric_limits<double>::quiet_NaN();
}

// The number of preemptions of this thread; 0 where the system does not count them.
inline std::int64_t thread_preemptions() {
#if defined(__linux__)
  rusage usage;
  if (!getrusage(RUSAGE_THREAD, &usage)) return usage.ru_nivcsw;
#endif
  return 0;
}

// The clock of a thread's processor time, for other threads to read while it runs.
class ThreadClock {
 public:
  // The thread itself begins.
  void begin() {
#if defined(__linux__)
    known_ = !pthread_getcpuclockid(pthread_self(), &clock_);
#endif
  }

  // NaN where other threads cannot tell.
  double now_s() const {
#if defined(__linux__)
    timespec time;
    if (known_ && !clock_gettime(clock_, &time))
      return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
#endif
    return std::numeric_limits<double>::quiet_NaN();
  }

 private:
#if defined(__linux__)
  clockid_t clock_{};
  bool known_ = false;
#endif
};

// The share of its duration that a kernel loses without interruptions, as it waits for something.
class UsualLoss {
 public:
  // The duration of an execution without the time in which it had no core.
  double own_s(double wall_s, double cpu_s, bool preempted) {
    if (cpu_s != cpu_s) return wall_s;
    const double share = wall_s > 0.0 ? std::max(1.0 - cpu_s / wall_s, 0.0) : 0.0;
    if (!preempted) {
      shares_ += share;
      ++count_;
      return wall_s;
    }
    const double usual = count_ ? shares_ / static_cast<double>(count_) : 0.0;
    return std::min(std::max(cpu_s, CLOCK_TICK_S) / std::max(1.0 - usual, LEAST_OWN_SHARE), wall_s);
  }

 private:
  static constexpr double CLOCK_TICK_S = 1e-9;     // a clock that jumps may tell of no time at all
  static constexpr double LEAST_OWN_SHARE = 1e-3;  // less is as good as only waiting

  double shares_ = 0.0;
  std::int64_t count_ = 0;
};

// What is known of a task; NaN and -1 where nobody looked.
struct ProcessorUse {
  double cpu_s = std::numeric_limits<double>::quiet_NaN();
  std::int32_t preemptions = -1;
};

// The account of one thread, which alone calls it. The clock of a thread's processor time is a system
// call of half a microsecond: it is read when LOOK_S have passed since it was read last, so that the
// tasks between two looks share it, and after a pause, which is nobody's. What the thread lost between
// two looks, the longest of these tasks has lost: they are short, unless one was interrupted.
class alignas(64) ProcessorTime {
 public:
  // The thread begins: *uses* has a place per task.
  void begin(std::vector<ProcessorUse> &uses, double now_s) {
    uses_ = &uses;
    preemptions_ = thread_preemptions();
    looked(now_s, thread_cpu_s());
  }

  // A task is about to start. What passed since the last one ended is a pause, if it is long: then
  // it looks, which takes time, and returns true.
  bool look_after_pause(double now_s) {
    if (now_s - ended_s_ < PAUSE_S) return false;
    look(now_s);
    return true;
  }

  // A task that took from *start_s* to *end_s* has ended.
  void ended(int task, double start_s, double end_s) {
    pending_.push_back({task, end_s - start_s});
    ended_s_ = end_s;
    if (end_s - looked_s_ < LOOK_S && pending_.size() < MOST_PENDING) return;
    look(end_s);
  }

  // The thread ends.
  void finish(double now_s) {
    if (!pending_.empty()) look(now_s);
  }

 private:
  struct Pending {
    int task;
    double duration_s;
  };

  static constexpr double LOOK_S = 20e-6;   // 3 % of it is what a look costs
  static constexpr double PAUSE_S = 5e-6;   // ten times as long as the runtime takes between tasks
  static constexpr double NOISE_S = 2e-6;   // by which two clocks differ that nothing disturbs
  static constexpr std::size_t MOST_PENDING = 256;

  // Reads the clock; what was lost after the last task ended is no task's.
  void look(double now_s) {
    const double cpu_s = thread_cpu_s();
    const double lost_s = (now_s - looked_s_) - (cpu_s - cpu_s_);
    const double pause_s = now_s - ended_s_;
    share_out(lost_s - std::min(lost_s, pause_s));
    if (pause_s > 0 && lost_s > NOISE_S) preemptions_ = thread_preemptions();
    looked(now_s, cpu_s);
  }

  void looked(double now_s, double cpu_s) {
    pending_.clear();
    looked_s_ = ended_s_ = now_s;
    cpu_s_ = cpu_s;
  }

  // Tells all pending tasks what they have had, of which *lost_s* in all were lost.
  void share_out(double lost_s) {
    if (lost_s != lost_s) return;  // there is no such clock
    for (const Pending &each : pending_) (*uses_)[each.task] = {each.duration_s, 0};
    if (pending_.size() == 1) return lose(pending_.front(), std::max(lost_s, 0.0));
    if (lost_s <= NOISE_S) return;
    std::stable_sort(pending_.begin(), pending_.end(), [](const Pending &a, const Pending &b) {
      return a.duration_s > b.duration_s;
    });
    for (const Pending &each : pending_) {
      if (lost_s <= 0.0) break;
      lose(each, lost_s);
      lost_s -= each.duration_s;
    }
  }

  // The first that is told gets all preemptions since the last look.
  void lose(const Pending &each, double lost_s) {
    ProcessorUse &use = (*uses_)[each.task];
    use.cpu_s = each.duration_s - std::min(lost_s, each.duration_s);
    if (lost_s <= NOISE_S) return;
    const std::int64_t now = thread_preemptions();
    use.preemptions = static_cast<std::int32_t>(now - preemptions_);
    preemptions_ = now;
  }

  std::vector<ProcessorUse> *uses_ = nullptr;
  std::vector<Pending> pending_;  // tasks since the last look
  double looked_s_ = 0.0, cpu_s_ = 0.0;
  double ended_s_ = 0.0;  // when the last task ended, or the last look was
  std::int64_t preemptions_ = 0;
};

}  // namespace tasksim
