// Program: the functions that the tasks of a native run call.
#pragma once

#include "../problem.h"

namespace tasksim {

// Functions by address, and the arguments of every task, made before the clock starts. A task
// without a function is a callback to the maker of the run.
class Program {
 public:
  Program(const tasksim_program &given, int tasks, int workers);  // throws BadArrays

  // Executes *task* with the workspace of *worker*; returns 0, or the error code of its function.
  i64 call(int task, int worker) const;

  // A task without a function; the callback also writes its start and end.
  bool is_called_back(int task) const { return function_[task] < 0; }
  i64 call_back(int task, int worker, double *began_ended_s) const {
    return call_back_(task, worker, began_ended_s);
  }

 private:
  void check_calls() const;

  i64 functions_;
  std::span<void *const> address_;
  std::span<const std::int8_t> tells_;
  std::span<const std::int8_t> reals_;
  std::span<const std::int32_t> function_;
  std::span<const i64> argument_ptr_;
  std::span<void *const> arguments_;
  std::span<const i64> own_ptr_;
  std::span<void *const> own_;
  std::int32_t (*call_back_)(i64 task, i64 worker, double *began_ended_s);
};

}  // namespace tasksim
