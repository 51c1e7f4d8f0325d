// Account: execution of only a part of a graph's tasks (selective/execution.py).
//
// Events are ends of tasks on the account, in the order of a replay. The end of a charged task is
// known when it starts; that of an executed task when it is over, and until then it is no earlier
// than the time that it has run so far. A task is executed on the thread of its own worker, whose
// caches hold the data of the tasks before it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>
#include <vector>

#include "../runtime/ledger.h"
#include "../runtime/release.h"
#include "../schedulers/scheduler.h"
#include "chooser.h"
#include "lock.h"
#include "processor_time.h"
#include "program.h"

namespace tasksim {

// The scheduler's view of the account: its clock is set, and woken workers ask for tasks.
class AccountView : public View {
 public:
  AccountView(const Graph &graph, const Platform &platform, const double *costs);

  double now() const override { return now_s; }
  bool sleeping(int worker) const override { return asleep_[worker]; }
  void wake(int worker) override;
  void wake_any_of(u64 classes) override;
  void wake_all_of(u64 classes) override;

  void fall_asleep(int worker) { asleep_[worker] = true; }

  double now_s = 0.0;
  std::vector<int> awake;  // workers that are to ask for a task

 private:
  bool runs(int worker, u64 classes) const { return classes >> platform.class_of[worker] & 1; }

  std::vector<char> asleep_;  // at first, all
};

// The factor by which others on the same processor lengthen a computing task (run/crowding.py).
class Crowding {
 public:
  explicit Crowding(const tasksim_selection &given)
      : max_pulse_(given.max_pulse), max_twin_pulse_(given.max_twin_pulse),
        max_beat_(given.max_beat), busy_pulse_(given.busy_pulse),
        idle_exponent_(given.idle_beat_exponent), busy_exponent_(given.busy_beat_exponent),
        weights_(given.crowding_weights) {}

  double operator()(Reading core, int kernel) const {
    const double busy = (within(core.pulse, 1.0, busy_pulse_) - 1.0) / (busy_pulse_ - 1.0);
    const double exponent = idle_exponent_ + (busy_exponent_ - idle_exponent_) * busy;
    const double slower = std::pow(within(core.beat_s, 1.0, max_beat_), exponent);
    const double fuller = within(core.pulse, 1.0, max_pulse_) - 1.0;
    const double beyond = within(core.pulse, max_pulse_, max_twin_pulse_) - max_pulse_;
    const double *const weights = weights_ + 3 * kernel;
    const double displaced = core.pulse == core.pulse ? weights[2] : 1.0;  // else it is unknown
    return displaced * slower * (1.0 + weights[0] * fuller + weights[1] * beyond);
  }

 private:
  static double within(double value, double least, double most) {
    return value == value ? std::clamp(value, least, most) : least;  // else it is unknown
  }

  const double max_pulse_, max_twin_pulse_, max_beat_, busy_pulse_, idle_exponent_, busy_exponent_;
  const double *const weights_;  // three by kernel
};

class Account {
 public:
  // *spins*: every thread has a core of its own. *company*: the neighbours of a measured task
  // execute, too. *rehearse*: the task that its worker was charged just before is executed first.
  Account(const Graph &graph, const Platform &platform, const Program &program,
          std::unique_ptr<Scheduler> scheduler, const double *estimates,
          const tasksim_selection &selection, bool spins);

  bool attach();
  void submit();
  bool wait(double patience_s);  // whether the run is over
  void stop();
  void work(int worker);  // the worker's thread; returns when the run is over

  i64 left() const { return left_; }

  AccountView view;
  Ledger ledger;
  PathRecords paths;
  tasksim_effort effort{};
  std::optional<Broken> error;
  double error_s = 0.0;

 private:
  // A worker: its task on the account, and the state of its thread.
  struct alignas(64) Seat {
    int task = NONE, before = NONE;  // before: the task before it, if not executed
    i64 begun = 0;                   // number of its start
    bool job = false;                // whether its thread is to execute it
    bool executed = false;           // whether its execution has started or ended
    bool measuring = false, company = false;
    double start = 0.0;
    std::atomic<double> began{0.0};  // by the wall clock; 0: not started
    double own = 0.0;                // its duration without the time that others took
    double measured_s = 0.0;         // sum of its measured durations
    double cpu_began = 0.0;          // by its thread's clock, written before began
    double crowding = 1.0;           // of its task, written before began
    ThreadClock clock;
    CoreState core;
  };
  struct End {
    double end;
    i64 begun;
    int worker;
    bool operator>(const End &other) const {
      return end != other.end ? end > other.end : begun > other.begun;
    }
  };
  // A heap with access to all of its items.
  struct Ends : std::priority_queue<End, std::vector<End>, std::greater<>> {
    const std::vector<End> &items() const { return c; }
  };
  using Guard = std::unique_lock<std::mutex>;

  void execute(int worker, Guard &guard);
  void make_safe(int task) const;
  void returned(int worker);
  double advance();
  double horizon() const;
  static double elapsed(const Seat &seat);
  void serve();
  void start(int task, int worker);
  void accompany(int worker);
  void hand_out(int worker);
  void end(int worker, double end_s);
  void push(const std::vector<int> &released, int by);
  void stop_if_stuck_or_done();
  void sleep(Guard &guard, double patience_s, bool news);
  void change();
  void fail(const Broken &broken);
  void finish();

  const Graph &graph_;
  const Program &program_;
  std::unique_ptr<Scheduler> scheduler_;
  Release release_;
  Patience patience_;
  Chooser chooser_;
  const std::span<const i64> safe_ptr_;
  void *const *safe_target_, *const *safe_source_;
  const i64 *safe_bytes_;
  const bool company_, rehearse_;
  const Reading *idle_;  // per worker; null: no pulses are taken
  const Crowding crowding_;
  const std::chrono::nanoseconds spin_;
  std::atomic<i64> left_;
  i64 starts_ = 0, measuring_ = 0;
  Ends ends_;  // known ends of tasks
  std::vector<Seat> seats_;
  std::vector<UsualLoss> usual_;  // per kernel with its parameters
  std::vector<int> awake_, freed_;
  std::mutex mutex_;
  std::condition_variable changed_, ended_;
  std::atomic<i64> changes_ = 0;
  std::atomic<bool> over_ = false;
};

}  // namespace tasksim
