// Execution of a graph for real: worker threads, real kernels, the wall clock.
//
// The same order of things as native/execution.py: one lock guards the scheduler and the
// dependencies, and kernels run outside it. When a task ends, the scheduler is notified, its
// successors are released and pushed, and then the worker pops. Bells are rung after the lock has
// been given back.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <span>

#include "../runtime/ledger.h"
#include "../runtime/pathrecords.h"
#include "../runtime/release.h"
#include "processor_time.h"
#include "program.h"
#include "view.h"

namespace tasksim {

// A run that threads enter: one submits and waits, one per worker works. It makes no threads.
class Execution {
 public:
  // *spins*: every thread has a core of its own, so spinning takes nobody's time. *foreign*: the
  // scheduler is not the core's, and may never return.
  Execution(const Graph &graph, const Platform &platform, const Program &program,
            std::unique_ptr<Scheduler> scheduler, const double *estimates, bool spins,
            bool foreign);

  // Called by the submitting thread

  // Outside tasks, which no worker executes: a flag per task. Call it before attach.
  void leave_outside(const std::int8_t *flags) { outside_ = flags; }
  // Keeps path records, with the kind of each task. Call it before begin.
  void keep_paths(std::span<const std::int32_t> kinds, int count) {
    paths.emplace(kinds, count, view.workers());
  }
  // Keeps the processor time of each task and, with the idle reading of each worker's core, the pulse
  // and the beat around it. Call it before begin.
  void keep_processor_times(const Reading *idle) {
    processor_uses.resize(graph_.tasks);
    processor_times_.resize(view.workers());
    if (idle) idle_.assign(idle, idle + view.workers());
  }
  bool attach();  // false: the scheduler's callback has failed
  void begin(double origin_s) { view.origin_s = origin_s; }
  // Submits tasks for a while; returns whether there are more.
  bool submit(double patience_s);
  // Waits for the end for a while; returns whether it has come.
  bool wait(double patience_s);
  // Keeps workers from starting another task.
  void stop() { over_ = true; }
  // Ends the run; false if a scheduler that does not return holds the lock.
  bool finish(double patience_s);

  // The thread of *worker*; returns when the run is over.
  void work(int worker);

  // Called by the outside thread

  // Newly released outside tasks, valid until the next call. If there are none it waits a while,
  // *idle_s* if a worker sleeps, else *busy_s*. Empty when the run is over.
  std::optional<std::span<const int>> handed_out(double busy_s, double idle_s);
  // Notes that outside tasks have ended.
  void completed(std::span<const std::int32_t> tasks, const double *start_s, const double *end_s);

  i64 left() const { return left_; }

  ThreadsView view;
  Ledger ledger;
  std::optional<PathRecords> paths;
  std::vector<ProcessorUse> processor_uses;  // per task, if they are kept
  std::optional<Broken> error;  // the first one; after it no task moves
  double error_s = 0.0;         // its time

 private:
  class Section;

  bool enter_within(double patience_s);
  void submit_one();
  int next(int worker, Section &section);
  void work_until_over(int worker);
  i64 execute(int task, int worker);
  i64 execute_called(int task, int worker);
  i64 execute_called_back(int task, int worker);
  void complete(int task, int worker);
  void release_successors(int task, int worker);
  void complete_outside(int task, double start_s, double end_s);
  void hand_out(int task);
  void push(const std::vector<int> &released, int by);
  void stop_if_stuck_or_done();
  void fail(const Broken &broken);
  void end();

  const Graph &graph_;
  const Program &program_;
  std::unique_ptr<Scheduler> scheduler_;
  Release release_;
  Patience patience_;
  Lock lock_;
  const bool foreign_;
  const std::chrono::nanoseconds spin_;
  std::vector<ProcessorTime> processor_times_;  // per worker, if they are kept
  std::vector<Reading> idle_;                   // per worker, if pulses are taken
  std::atomic<bool> over_ = false;
  std::atomic<i64> left_;
  int submitted_ = 0;
  std::vector<int> freed_;

  const std::int8_t *outside_ = nullptr;   // a flag per task; null: no outside tasks
  std::vector<int> to_hand_out_, handed_out_;
  std::atomic<bool> some_to_hand_out_ = false;  // the outside thread polls it
  std::mutex outside_mutex_;
  std::condition_variable released_outside_;

  std::mutex end_mutex_;
  std::condition_variable ended_;
};

}  // namespace tasksim
