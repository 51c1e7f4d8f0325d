// Shown: a run as its scheduler in Python sees it, in functions that Python calls.
#pragma once

#include <exception>
#include <string>

#include "../runtime/ledger.h"
#include "scheduler.h"

namespace tasksim {

// What the functions of a view know; whoever has one of them has it all.
class Shown {
 public:
  virtual ~Shown() = default;

  virtual View &view() = 0;
  virtual bool runs() const = 0;  // else nothing can be asked of it any more, though much be seen

  // A capsule that owns this.
  void *owner();

  // Throws what has gone wrong in a function of the view, which Python cannot pass on.
  void rethrow();

  tasksim_called given{};
  std::exception_ptr failed;
};

// A function of the view of the run that *owner* owns; null: there is none of that name.
void *function_of(void *owner, const std::string &name);

}  // namespace tasksim
