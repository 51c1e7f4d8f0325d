// Execution of a graph for real: worker threads, real kernels, the wall clock.
//
// As native/execution.py, the same order of things: one lock guards the scheduler and the
// dependencies, kernels run outside it. At a task's end the scheduler hears of it, its successors
// are released and pushed, and then the worker pops; bells are rung when the lock is given back.
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

// What threads enter: one of them submits and waits, one per worker works. It makes none itself.
class Execution {
 public:
  // *spins*: every thread has a core of its own, so that waiting in a loop takes nobody's time.
  // *foreign*: the scheduler is not the core's, and may never return.
  Execution(const Graph &graph, const Platform &platform, const Program &program,
            std::unique_ptr<Scheduler> scheduler, const double *estimates, bool spins,
            bool foreign);

  // The thread that submits

  // Which tasks no worker executes, but the thread outside: a flag per task; before attach.
  void leave_outside(const std::int8_t *flags) { outside_ = flags; }
  // Keeps path records, by what each task is counted as; before begin.
  void keep_paths(std::span<const std::int32_t> kinds, int count) {
    paths.emplace(kinds, count, view.workers());
  }
  // Keeps the processor time of each task; before begin.
  void keep_processor_times() {
    processor_uses.resize(graph_.tasks);
    processor_times_.resize(view.workers());
  }
  bool attach();  // false: the scheduler's callback has failed
  void begin(double origin_s) { view.origin_s = origin_s; }
  // Submits tasks for a while; whether there is more to be submitted.
  bool submit(double patience_s);
  // Waits for the end for a while; whether it has come.
  bool wait(double patience_s);
  // Lets no worker begin another task.
  void stop() { over_ = true; }
  // Ends the run; false if a scheduler that does not return holds the lock.
  bool finish(double patience_s);

  // The thread of *worker*: returns when the run is over.
  void work(int worker);

  // The thread outside

  // Its tasks that were released, for as long as the next call; waits for some for a while, *idle_s*
  // if a worker sleeps, else *busy_s*. None when the run is over.
  std::optional<std::span<const int>> handed_out(double busy_s, double idle_s);
  // Such tasks have ended.
  void completed(std::span<const std::int32_t> tasks, const double *start_s, const double *end_s);

  i64 left() const { return left_; }

  ThreadsView view;
  Ledger ledger;
  std::optional<PathRecords> paths;
  std::vector<ProcessorUse> processor_uses;  // per task, if they are kept
  std::optional<Broken> error;  // the first; after it no task moves any more
  double error_s = 0.0;         // when that was

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
  std::atomic<bool> over_ = false;
  std::atomic<i64> left_;
  int submitted_ = 0;
  std::vector<int> freed_;

  const std::int8_t *outside_ = nullptr;   // a flag per task; null: none has it
  std::vector<int> to_hand_out_, handed_out_;
  std::atomic<bool> some_to_hand_out_ = false;  // what the thread outside looks for as it waits
  std::mutex outside_mutex_;
  std::condition_variable released_outside_;

  std::mutex end_mutex_;
  std::condition_variable ended_;
};

}  // namespace tasksim
