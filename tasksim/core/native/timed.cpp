// Timed calls: one task of a program, with the times just before and just after it.
#include <atomic>
#include <chrono>
#include <new>

#include "lock.h"
#include "program.h"

namespace tasksim {

namespace {

struct Timed {
  Timed(const tasksim_program &given, int tasks, int workers)
      : program(given, tasks, workers), tasks(tasks), workers(workers) {}

  Program program;
  int tasks, workers;
};

// Other threads read them meanwhile.
void note(double &place, double time_s) {
  std::atomic_ref<double>(place).store(time_s, std::memory_order_relaxed);
}

}  // namespace

}  // namespace tasksim

using namespace tasksim;

extern "C" {

void *tasksim_timed_new(const tasksim_program *program, int64_t tasks, int64_t workers,
                        int32_t *status) {
  try {
    if (!program || tasks < 0 || tasks > INT32_MAX || workers < 1 || workers > INT32_MAX)
      throw BadArrays{};
    *status = TASKSIM_DONE;
    return new Timed(*program, static_cast<int>(tasks), static_cast<int>(workers));
  } catch (const BadArrays &) {
    *status = TASKSIM_BAD_ARRAYS;
  } catch (const std::bad_alloc &) {
    *status = TASKSIM_NO_MEMORY;
  }
  return nullptr;
}

int64_t tasksim_timed_call(const void *timed, int64_t task, int64_t worker, double *began_ended_s) {
  const Timed &found = *static_cast<const Timed *>(timed);
  if (task < 0 || task >= found.tasks || worker < 0 || worker >= found.workers ||
      found.program.is_called_back(static_cast<int>(task)))
    return -1;
  note(began_ended_s[0], clock_s());
  const i64 told = found.program.call(static_cast<int>(task), static_cast<int>(worker));
  note(began_ended_s[1], clock_s());
  return told;
}

void tasksim_timed_free(void *timed) { delete static_cast<Timed *>(timed); }

}  // extern "C"
