// Processor time of a worker's tasks: the time that its thread had a core
// (native/processor_time.py).
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

#include "core_watch.h"
#include "pulse.h"

namespace tasksim {

// The processor time of this thread in seconds; NaN without such a clock.
inline double thread_cpu_s() {
#if defined(CLOCK_THREAD_CPUTIME_ID)
  timespec time;
  if (!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time))
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
#endif
  return std::numeric_limits<double>::quiet_NaN();
}

// The number of preemptions of this thread; 0 if the system does not count them.
inline std::int64_t thread_preemptions() {
#if defined(__linux__)
  rusage usage;
  if (!getrusage(RUSAGE_THREAD, &usage)) return usage.ru_nivcsw;
#endif
  return 0;
}

// The processor time clock of a thread; other threads can read it while it runs.
class ThreadClock {
 public:
  // Called by the thread itself at its start.
  void begin() {
#if defined(__linux__)
    known_ = !pthread_getcpuclockid(pthread_self(), &clock_);
#endif
  }

  // NaN if other threads cannot read it.
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

// The pulse and the beat of a thread's core over time, relative to an idle core; only this thread
// calls it. They are read at most every PULSE_INTERVAL_S, between tasks.
class CoreState {
 public:
  // *idle* is what the core has if others leave it alone; a pulse of 0: nothing is read.
  void begin(double now_s, Reading idle) {
    idle_ = idle;
    if (is_read()) read(now_s);
  }

  bool is_read() const { return idle_.pulse > 0.0; }
  bool is_due(double now_s) const { return is_read() && now_s - read_s_ >= PULSE_INTERVAL_S; }
  Reading last() const { return last_; }

  // Reads them; returns the means of these and of the last ones, at least 1.
  Reading read(double now_s) {
    const Reading found = pulse_();
    // Without an idle beat, the beat stays unknown (NaN).
    const Reading now{found.pulse / idle_.pulse, found.beat_s / idle_.beat_s};
    const Reading mean{std::max((last_.pulse + now.pulse) / 2.0, 1.0),
                       std::max((last_.beat_s + now.beat_s) / 2.0, 1.0)};
    last_ = now;
    read_s_ = now_s;
    return mean;
  }

 private:
  static constexpr double PULSE_INTERVAL_S = 1e-3;  // a pulse costs .15 % of it

  Pulse pulse_;
  Reading idle_{0.0, 0.0};
  Reading last_{1.0, 1.0};  // in idle ones
  double read_s_ = 0.0;
};

// The share of its duration that a kernel loses without interruptions, because it waits.
class UsualLoss {
 public:
  // The duration of an execution without the time in which it had no core.
  double own_s(double wall_s, double cpu_s, bool preempted) {
    if (cpu_s != cpu_s) return wall_s;
    const double lost = wall_s > 0.0 ? std::max(1.0 - cpu_s / wall_s, 0.0) : 0.0;
    if (!preempted) {
      shares_ += lost;
      ++count_;
      return wall_s;
    }
    return std::min(std::max(cpu_s, CLOCK_TICK_S) / std::max(1.0 - share(), MIN_OWN_SHARE), wall_s);
  }

  // Whether the kernel waits as a rule: then others on the processor do not make it longer.
  bool blocks() const { return share() > BLOCKING_SHARE; }

 private:
  static constexpr double CLOCK_TICK_S = 1e-9;     // a clock that jumps may show no time at all
  static constexpr double MIN_OWN_SHARE = 1e-3;  // below it, a kernel only waits
  static constexpr double BLOCKING_SHARE = 0.05;  // as in run/disturbance.py

  double share() const { return count_ ? shares_ / static_cast<double>(count_) : 0.0; }

  double shares_ = 0.0;
  std::int64_t count_ = 0;
};

// The record of a task; NaN and -1: unknown.
struct ProcessorUse {
  double cpu_s = std::numeric_limits<double>::quiet_NaN();
  std::int32_t preemptions = -1;
  double pulse = std::numeric_limits<double>::quiet_NaN();
  double beat = std::numeric_limits<double>::quiet_NaN();
};

// The watch of this process.
inline const CoreWatch &core_watch() {
  static const CoreWatch watch = [] {
    CoreWatch made;
    made.prepare();
    return made;
  }();
  return watch;
}

// The account of one thread; only this thread calls it. Its processor time clock is a system call
// of half a microsecond. It is read when READING_INTERVAL_S have passed since the last reading, so
// that the tasks between two readings share them, and after a pause, which belongs to no task. The
// time lost between two readings is charged to the longest of these tasks: they are short unless
// one was interrupted. Where the system tells that the thread lost its core, the clock is read
// after a task in which it did, which is charged first, and after such a pause; otherwise every
// WATCHED_INTERVAL_S, for what the host of a virtual machine takes unseen. The pulse and the beat
// of the core are taken every PULSE_INTERVAL_S, between tasks: those between two readings have
// their mean.
class alignas(64) ProcessorTime {
 public:
  // Called at the start of the thread; *uses* has a place per task. *idle* is what the
  // thread's core has if others leave it alone; a pulse of 0: none are taken.
  void begin(std::vector<ProcessorUse> &uses, double now_s, Reading idle) {
    uses_ = &uses;
    preemptions_ = thread_preemptions();
    core_.begin(now_s, idle);
    if (watch_.works()) watch_.watch();
    looked(now_s, thread_cpu_s());
  }

  // Called before a task starts. A long time since the last end is a pause: then pulse and clock
  // are read as needed, and the call returns whether one was, as that takes time.
  bool look_after_pause(double now_s) {
    if (now_s - ended_s_ < READING_PAUSE_S) return false;
    const bool pulse_is_due = core_.is_due(now_s);
    if (pulse_is_due) take_pulse(now_s);
    kept_core_ = kept_core();
    if (kept_core_ && now_s - ended_s_ < WATCHED_PAUSE_S) return pulse_is_due;
    look(now_s);
    looked_before_task_ = true;
    return true;
  }

  // Notes that a task ran from *start_s* to *end_s*.
  void ended(int task, double start_s, double end_s) {
    // A thread that lost its core in the reading lost it before its first task.
    if (looked_before_task_ && start_s - looked_s_ >= READING_PAUSE_S) looked_s_ = start_s;
    looked_before_task_ = false;
    pending_.push_back({task, end_s - start_s});
    ended_s_ = end_s;
    kept_core_ = kept_core();
    const bool last_lost_core = watch_.works() && !kept_core_;
    const double interval_s = watch_.works() ? WATCHED_INTERVAL_S : READING_INTERVAL_S;
    if (last_lost_core || end_s - looked_s_ >= interval_s || pending_.size() >= MAX_PENDING_TASKS)
      look(end_s, last_lost_core);
    if (!core_.is_read()) return;
    since_pulse_.push_back(task);
    if (core_.is_due(end_s)) take_pulse(end_s);
  }

  // Called at the end of the thread.
  void finish(double now_s) {
    if (!pending_.empty()) look(now_s);
    if (!since_pulse_.empty()) take_pulse(now_s);
  }

 private:
  struct Pending {
    int task;
    double duration_s;
  };

  static constexpr double READING_INTERVAL_S = 20e-6;   // a reading costs 3 % of it
  static constexpr double READING_PAUSE_S = 5e-6;   // ten times the overhead between two tasks
  static constexpr double WATCHED_INTERVAL_S = 2e-3;  // a host takes a core for as long, or longer
  static constexpr double WATCHED_PAUSE_S = 100e-6;   // a reading costs .5 % of it
  static constexpr double CLOCK_NOISE_S = 2e-6;   // difference of two undisturbed clocks
  static constexpr std::size_t MAX_PENDING_TASKS = 256;

  // Whether the thread has had its core since this was last called; false if the system does not
  // tell.
  bool kept_core() {
    if (!watch_.works()) return false;
    if (watch_.kept()) return true;
    watch_.watch();
    return false;
  }

  // Reads the clock; time lost after the last end is charged to no task.
  void look(double now_s, bool last_lost_core = false) {
    const double cpu_s = thread_cpu_s();
    const double lost_s = (now_s - looked_s_) - (cpu_s - cpu_s_);
    const double pause_s = now_s - ended_s_;
    share_out(lost_s - std::min(lost_s, pause_s), last_lost_core);
    if (pause_s > 0 && lost_s > CLOCK_NOISE_S && !kept_core_) preemptions_ = thread_preemptions();
    looked(now_s, cpu_s);
  }

  void looked(double now_s, double cpu_s) {
    pending_.clear();
    looked_s_ = ended_s_ = now_s;
    cpu_s_ = cpu_s;
  }

  // Records the processor time of all pending tasks, which lost *lost_s* in total.
  void share_out(double lost_s, bool last_lost_core) {
    if (lost_s != lost_s) return;  // without such a clock
    for (const Pending &each : pending_) {
      (*uses_)[each.task].cpu_s = each.duration_s;
      (*uses_)[each.task].preemptions = 0;
    }
    if (pending_.size() == 1) return lose(pending_.front(), std::max(lost_s, 0.0));
    if (lost_s <= CLOCK_NOISE_S) return;
    if (last_lost_core) {
      lose(pending_.back(), lost_s);
      lost_s -= pending_.back().duration_s;
      pending_.pop_back();
    }
    std::stable_sort(pending_.begin(), pending_.end(), [](const Pending &a, const Pending &b) {
      return a.duration_s > b.duration_s;
    });
    for (const Pending &each : pending_) {
      if (lost_s <= 0.0) break;
      lose(each, lost_s);
      lost_s -= each.duration_s;
    }
  }

  // The first of them gets all preemptions since the last reading.
  void lose(const Pending &each, double lost_s) {
    ProcessorUse &use = (*uses_)[each.task];
    use.cpu_s = each.duration_s - std::min(lost_s, each.duration_s);
    if (lost_s <= CLOCK_NOISE_S || kept_core_) return;
    const std::int64_t now = thread_preemptions();
    use.preemptions = static_cast<std::int32_t>(now - preemptions_);
    preemptions_ = now;
  }

  // Takes a pulse, and gives the tasks since the last one the mean of both.
  void take_pulse(double now_s) {
    const Reading mean = core_.read(now_s);
    for (const int task : since_pulse_) {
      (*uses_)[task].pulse = mean.pulse;
      (*uses_)[task].beat = mean.beat_s;
    }
    since_pulse_.clear();
  }

  std::vector<ProcessorUse> *uses_ = nullptr;
  std::vector<Pending> pending_;  // tasks since the last reading
  double looked_s_ = 0.0, cpu_s_ = 0.0;
  double ended_s_ = 0.0;  // end of the last task, or the last reading
  std::int64_t preemptions_ = 0;
  CoreState core_;
  const CoreWatch &watch_ = core_watch();
  bool kept_core_ = false;  // what the system told last
  bool looked_before_task_ = false;  // the last reading of the clock was before the current task
  std::vector<int> since_pulse_;  // tasks that ended since then
};

}  // namespace tasksim
