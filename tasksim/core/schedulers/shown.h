// Shown: a run as its scheduler in Python sees it, by functions that Python calls.
#pragma once

#include <exception>
#include <string>

#include "../runtime/ledger.h"
#include "scheduler.h"

namespace tasksim {

// The state behind the functions of a view; each function owns all of it.
class Shown {
 public:
  virtual ~Shown() = default;

  virtual View &view() = 0;
  virtual bool runs() const = 0;  // else it answers no requests, though it can still be read

  // A capsule that owns this.
  void *owner();

  // Throws the error of a function of the view, which Python cannot pass on.
  void rethrow();

  tasksim_called given{};
  std::exception_ptr failed;
};

// A function of the view of the run that *owner* owns; null: no function has that name.
void *function_of(void *owner, const std::string &name);

}  // namespace tasksim
