// Interface of selective runs: C functions, which no exception leaves.
#include <new>

#include "account.h"

namespace tasksim {

namespace {

// A run with the objects that it needs.
struct Selective {
  Selective(const Graph &graph, const Platform &platform, const tasksim_program &calls,
            std::unique_ptr<Scheduler> scheduler, const double *estimates,
            const tasksim_selection &selection, bool spins)
      : program(calls, graph.tasks, platform.workers),
        account(graph, platform, program, std::move(scheduler), estimates, selection, spins) {
    for (int task = 0; task < graph.tasks; ++task)
      if (program.is_called_back(task)) throw BadArrays{};
  }

  Program program;
  Account account;
};

Account &account_of(void *run) { return static_cast<Selective *>(run)->account; }

}  // namespace

}  // namespace tasksim

using namespace tasksim;

extern "C" {

void *tasksim_selective_new(const void *graph, const void *platform,
                            const tasksim_program *program, const double *estimates,
                            const tasksim_scheduler *scheduler, const tasksim_selection *selection,
                            int32_t spins, int32_t *status) {
  try {
    if (!graph || !platform || !program || !estimates || !scheduler || !scheduler->name ||
        !selection || !selection->of_task || selection->kernels < 0 ||
        selection->kernels > INT32_MAX)
      throw BadArrays{};
    auto policy = make_scheduler(*scheduler);
    *status = policy ? TASKSIM_DONE : TASKSIM_UNKNOWN;
    if (!policy) return nullptr;
    return new Selective(*static_cast<const Graph *>(graph),
                         *static_cast<const Platform *>(platform), *program, std::move(policy),
                         estimates, *selection, spins != 0);
  } catch (const BadArrays &) {
    *status = TASKSIM_BAD_ARRAYS;
  } catch (const std::bad_alloc &) {
    *status = TASKSIM_NO_MEMORY;
  }
  return nullptr;
}

int32_t tasksim_selective_attach(void *run) {
  Account &account = account_of(run);
  try {
    account.attach();
  } catch (const BadArrays &) {
    return TASKSIM_BAD_ARRAYS;
  } catch (const std::bad_alloc &) {
    return TASKSIM_NO_MEMORY;
  }
  return account.error ? account.error->status : TASKSIM_DONE;
}

void tasksim_selective_submit(void *run) { account_of(run).submit(); }

int32_t tasksim_selective_wait(void *run, double patience_s) {
  return account_of(run).wait(patience_s) ? TASKSIM_DONE : TASKSIM_MORE;
}

void tasksim_selective_stop(void *run) { account_of(run).stop(); }

int32_t tasksim_selective_work(void *run, int64_t worker) {
  Account &account = account_of(run);
  if (worker < 0 || worker >= account.view.workers()) return TASKSIM_BAD_ARRAYS;
  account.work(static_cast<int>(worker));
  return TASKSIM_DONE;
}

int64_t tasksim_selective_left(void *run) { return account_of(run).left(); }

int32_t tasksim_selective_outcome(void *run, tasksim_outcome *outcome) {
  const Account &account = account_of(run);
  const auto &error = account.error;
  *outcome = {};
  outcome->worker = error ? error->worker : -1;
  outcome->task = error ? error->task : -1;
  outcome->number = error ? error->number : 0;
  outcome->now_s = account.error_s;
  return error ? error->status : TASKSIM_DONE;
}

void tasksim_selective_tasks(void *run, const tasksim_tasks *columns) {
  account_of(run).ledger.write(*columns, 1.0);
}

void tasksim_selective_effort(void *run, tasksim_effort *effort) {
  *effort = account_of(run).effort;
}

void tasksim_selective_path(void *run, int64_t *counts, double *seconds, double *end_waited_s) {
  account_of(run).paths.write(counts, seconds, end_waited_s);
}

void tasksim_selective_free(void *run) { delete static_cast<Selective *>(run); }

}  // extern "C"
