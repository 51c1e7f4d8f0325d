// Interface of native runs: C functions, which no exception leaves.
#include <algorithm>
#include <new>

#include "../schedulers/foreign.h"
#include "cold_reads.h"
#include "execution.h"
#include "passes.h"

namespace tasksim {

namespace {

// A run with the objects that it needs.
struct Native {
  Native(const Graph &graph, const Platform &platform, const tasksim_program &calls,
         std::unique_ptr<Scheduler> scheduler, const double *estimates, bool spins, bool foreign)
      : program(calls, graph.tasks, platform.workers),
        execution(graph, platform, program, std::move(scheduler), estimates, spins, foreign) {}

  Program program;
  Execution execution;
};

Execution &execution_of(void *run) { return static_cast<Native *>(run)->execution; }

std::unique_ptr<Scheduler> scheduler_of(const tasksim_scheduler *policy,
                                        const tasksim_callbacks *callbacks) {
  if (callbacks) return foreign_scheduler(*callbacks);
  if (!policy || !policy->name) throw BadArrays{};
  return make_scheduler(*policy);
}

// The status of a call that may have failed.
std::int32_t status_of(Execution &run, bool more) {
  return run.error ? run.error->status : more ? TASKSIM_MORE : TASKSIM_DONE;
}

bool is_worker(const Execution &run, i64 worker) {
  return worker >= 0 && worker < run.view.workers();
}

bool is_task(const Execution &run, i64 task) { return task >= 0 && task < run.view.graph.tasks; }

}  // namespace

}  // namespace tasksim

using namespace tasksim;

extern "C" {

void *tasksim_native_new(const void *graph, const void *platform, const tasksim_program *program,
                         const double *estimates, const tasksim_scheduler *scheduler,
                         const tasksim_callbacks *callbacks, int32_t spins, int32_t *status) {
  try {
    if (!graph || !platform || !program || !estimates) throw BadArrays{};
    auto policy = scheduler_of(scheduler, callbacks);
    *status = policy ? TASKSIM_DONE : TASKSIM_UNKNOWN;
    if (!policy) return nullptr;
    return new Native(*static_cast<const Graph *>(graph),
                      *static_cast<const Platform *>(platform), *program, std::move(policy),
                      estimates, spins != 0, callbacks != nullptr);
  } catch (const BadArrays &) {
    *status = TASKSIM_BAD_ARRAYS;
  } catch (const std::bad_alloc &) {
    *status = TASKSIM_NO_MEMORY;
  }
  return nullptr;
}

int32_t tasksim_native_attach(void *run) {
  Execution &execution = execution_of(run);
  try {
    execution.attach();
  } catch (const BadArrays &) {
    return TASKSIM_BAD_ARRAYS;
  } catch (const std::bad_alloc &) {
    return TASKSIM_NO_MEMORY;
  }
  return status_of(execution, false);
}

void tasksim_native_begin(void *run, double origin_s) { execution_of(run).begin(origin_s); }

int32_t tasksim_native_submit(void *run, double patience_s) {
  const bool more = execution_of(run).submit(patience_s);
  return more ? TASKSIM_MORE : TASKSIM_DONE;
}

int32_t tasksim_native_wait(void *run, double patience_s) {
  return execution_of(run).wait(patience_s) ? TASKSIM_DONE : TASKSIM_MORE;
}

void tasksim_native_stop(void *run) { execution_of(run).stop(); }

int32_t tasksim_native_finish(void *run, double patience_s) {
  return execution_of(run).finish(patience_s) ? TASKSIM_DONE : TASKSIM_MORE;
}

int32_t tasksim_native_work(void *run, int64_t worker) {
  Execution &execution = execution_of(run);
  if (!is_worker(execution, worker)) return TASKSIM_BAD_ARRAYS;
  execution.work(static_cast<int>(worker));
  return TASKSIM_DONE;
}

int64_t tasksim_native_left(void *run) { return execution_of(run).left(); }

void tasksim_native_outside(void *run, const int8_t *outside) {
  execution_of(run).leave_outside(outside);
}

int64_t tasksim_native_handed_out(void *run, double busy_s, double idle_s, int32_t *tasks) {
  const auto found = execution_of(run).handed_out(busy_s, idle_s);
  if (!found) return -1;
  std::copy(found->begin(), found->end(), tasks);
  return static_cast<int64_t>(found->size());
}

int32_t tasksim_native_completed(void *run, int64_t count, const int32_t *tasks,
                                 const double *start_s, const double *end_s) {
  Execution &execution = execution_of(run);
  for (i64 k = 0; k < count; ++k)
    if (!is_task(execution, tasks[k])) return TASKSIM_BAD_ARRAYS;
  execution.completed({tasks, static_cast<std::size_t>(count)}, start_s, end_s);
  return status_of(execution, false);
}

int32_t tasksim_native_outcome(void *run, tasksim_outcome *outcome) {
  const Execution &execution = execution_of(run);
  const auto &error = execution.error;
  *outcome = {};
  outcome->worker = error ? error->worker : -1;
  outcome->task = error ? error->task : -1;
  outcome->number = error ? error->number : 0;
  outcome->now_s = execution.error_s;
  return error ? error->status : TASKSIM_DONE;
}

void tasksim_native_tasks(void *run, const tasksim_tasks *columns) {
  const Execution &execution = execution_of(run);
  execution.ledger.write(*columns, 1.0);
  const auto &uses = execution.processor_uses;
  for (std::size_t task = 0; task < uses.size(); ++task) {
    if (columns->cpu_s) columns->cpu_s[task] = uses[task].cpu_s;
    if (columns->preemptions) columns->preemptions[task] = uses[task].preemptions;
    if (columns->pulse) columns->pulse[task] = uses[task].pulse;
    if (columns->beat) columns->beat[task] = uses[task].beat;
  }
}

void tasksim_native_keep_processor_times(void *run, const tasksim_reading *idle) {
  execution_of(run).keep_processor_times(idle);
}

tasksim_reading tasksim_pulse() {
  thread_local Pulse pulse;
  return pulse();
}

int64_t tasksim_pulses(double begin_s, double end_s, int64_t most,
                       tasksim_reading *pulses, double *longest_gap_s) {
  Pulse pulse;
  // A thread that waits for the others keeps its core busy.
  while (clock_s() < begin_s) pulse();
  *longest_gap_s = 0.0;
  double last_s = begin_s;
  int64_t count = 0;
  while (count < most && last_s < end_s) {
    pulses[count++] = pulse();
    const double now_s = clock_s();
    *longest_gap_s = std::max(*longest_gap_s, now_s - last_s);
    last_s = now_s;
  }
  return count;
}

int64_t tasksim_cold_reads(int64_t bytes, double pause_s, int64_t count, double *seconds) {
  if (!ColdReads::are_known()) return 0;
  ColdReads reads(static_cast<std::size_t>(bytes));
  for (int64_t number = 0; number < count; ++number) {
    const ColdReads::Sample sample = reads(pause_s);
    *seconds++ = sample.near_s;
    *seconds++ = sample.after_pause_s;
    *seconds++ = sample.far_s;
  }
  return count;
}

int64_t tasksim_passes(uint64_t *line, int32_t side, int64_t count, double patience_s,
                       double *seconds) {
  Passes passes(line, side);
  for (int64_t number = 0; number < count; ++number) {
    seconds[number] = passes(patience_s);
    if (seconds[number] < 0.0) return number;
  }
  return count;
}

int32_t tasksim_native_keep_paths(void *run, const int32_t *kinds, int64_t count) {
  Execution &execution = execution_of(run);
  const std::span given(kinds, execution.view.graph.tasks);
  if (count < 0 || count > INT32_MAX) return TASKSIM_BAD_ARRAYS;
  for (const int32_t kind : given)
    if (kind < 0 || kind >= count) return TASKSIM_BAD_ARRAYS;
  execution.keep_paths(given, static_cast<int>(count));
  return TASKSIM_DONE;
}

void tasksim_native_path(void *run, int64_t *counts, double *seconds, double *end_waited_s) {
  const auto &paths = execution_of(run).paths;
  if (paths) paths->write(counts, seconds, end_waited_s);
}

void tasksim_native_free(void *run) { delete static_cast<Native *>(run); }

// For a scheduler's callbacks, under the lock that they are called with

const int8_t *tasksim_native_sleepers(void *run) { return execution_of(run).view.asleep.data(); }

int64_t tasksim_native_pusher(void *run) { return execution_of(run).view.pusher; }

void tasksim_native_wake(void *run, int64_t worker) {
  Execution &execution = execution_of(run);
  if (is_worker(execution, worker)) execution.view.wake(static_cast<int>(worker));
}

void tasksim_native_wake_any(void *run, int64_t task) {
  Execution &execution = execution_of(run);
  if (is_task(execution, task)) execution.view.wake_any(static_cast<int>(task));
}

void tasksim_native_wake_all(void *run, int64_t task) {
  Execution &execution = execution_of(run);
  if (is_task(execution, task)) execution.view.wake_all(static_cast<int>(task));
}

}  // extern "C"
