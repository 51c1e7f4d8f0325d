// The status of what was thrown: no exception leaves the core.
#pragma once

#include <new>

#include "runtime/ledger.h"

namespace tasksim {

inline int32_t told(const Broken &broken, tasksim_outcome *outcome) {
  if (outcome) {
    outcome->task = broken.task;
    outcome->worker = broken.worker;
    outcome->number = broken.number;
  }
  return broken.status;
}

// The status of the exception that a handler has caught; *outcome*, which may be null, says more.
#ifdef __wasm__
int32_t status_of_thrown(tasksim_outcome *outcome);  // wasm/exceptions.cpp
#else
inline int32_t status_of_thrown(tasksim_outcome *outcome) {
  try {
    throw;
  } catch (const Broken &broken) {
    return told(broken, outcome);
  } catch (const BadArrays &) {
    return TASKSIM_BAD_ARRAYS;
  } catch (const std::bad_alloc &) {
    return TASKSIM_NO_MEMORY;
  } catch (...) {
    return TASKSIM_BUG;
  }
}
#endif

// Calls *body*, and turns its exceptions into a status.
template <class Body>
int32_t guarded(tasksim_outcome *outcome, Body body) {
  try {
    return body();
  } catch (...) {
    return status_of_thrown(outcome);
  }
}

}  // namespace tasksim
