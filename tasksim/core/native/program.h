// Program: what the tasks of a native run call.
#pragma once

#include "../problem.h"

namespace tasksim {

// Functions by their addresses, and the arguments of every task, all there before the clock starts.
// A task without a function is a call back to whoever made the run.
class Program {
 public:
  Program(const tasksim_program &given, int tasks, int workers);  // throws BadArrays

  // Executes *task* with what *worker* has of its own: 0, or what its function tells.
  i64 call(int task, int worker) const;

  // A task without a function; whoever is called back also writes when it began and ended.
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
