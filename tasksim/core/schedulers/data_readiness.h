// Readiness of data: the task of a worker's queue that lacks the fewest bytes goes first
// (schedulers/data_readiness.py).
#pragma once

#include "line.h"
#include "scheduler.h"

namespace tasksim {

// What goes first in the queue of a worker.
struct Order {
  bool by_priority = false;
  bool ready_first = false;  // of the most urgent tasks, the one that lacks the fewest bytes
};

// The place, among *tasks*, of the one that lacks the least in *memory*; of equals, the first.
//
// The search ends at a task that lacks nothing.
inline std::size_t first_ready(const Line<int> &tasks, int memory, View &view) {
  Lacks best;
  std::size_t place = 0, index = 0;
  for (const int task : tasks) {
    const Lacks lacks = view.unready(task, memory);
    if (!lacks.missing && !lacks.unplaced) return index;
    if (!index || lacks < best) {
      best = lacks;
      place = index;
    }
    ++index;
  }
  return place;
}

}  // namespace tasksim
