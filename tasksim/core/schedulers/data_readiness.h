// Readiness of data: the task of a worker's queue that lacks the fewest bytes goes first
// (schedulers/queues.py).
#pragma once

#include <algorithm>
#include <memory>

#include "line.h"
#include "scheduler.h"

namespace tasksim {

// What goes first in the queue of a worker.
struct Order {
  bool by_priority = false;
  bool ready_first = false;  // of the most urgent tasks, the one that lacks the fewest bytes
};

// Where the data of the tasks of a queue are looked for.
struct ReadyFirst {
  View *view = nullptr;  // null: nowhere, the first task goes first
  int memory = 0;
};

// Tasks in the order in which they were pushed, and the one that goes first of them.
//
// That is the one that lacks the least in the memory; of equals, the first. A search ends at a task
// that lacks nothing. Unlike in Python, tasks are either in the line or, when the view keeps what
// they lack, there.
class ReadyTasks {
 public:
  explicit ReadyTasks(const ReadyFirst &where) : where_(&where) {}

  std::size_t size() const { return kept_ ? kept_->size() : tasks_.size(); }
  int front() const { return tasks_.front(); }  // only where the first goes first

  int likely() const { return kept_ ? NONE : tasks_.front(); }  // to go first; of some tasks

  void push_back(int task) {
    if (kept_)
      kept_->add(task);
    else
      tasks_.push_back(task);
  }

  void push_front(int task) {
    if (kept_)
      kept_->add_first(task);
    else
      tasks_.push_front(task);
  }

  // Where there is none left: as if there had never been any.
  void begin_again() {
    tasks_.clear();
    looks_ = 0;
  }

  // The task that goes first, removed.
  int pop() {
    if (kept_) return pop_kept();
    if (!where_->view || tasks_.size() == 1) return tasks_.pop_front();
    const auto [place, seen] = readiest();
    const int task = tasks_.take(place);
    looks_ = std::max<i64>(0, looks_ + static_cast<i64>(seen) - FEW);
    if (looks_ > PATIENCE) keep();
    return task;
  }

 private:
  // As long as a search looks at so many tasks on average, that costs less than to keep what they
  // lack. When searches have looked at so many more, it is kept, for as many searches as there are
  // tasks. The numbers are not Python's: here a look costs less of what keeping costs.
  static constexpr i64 FEW = 64, PATIENCE = 4096;

  struct Found {
    std::size_t place, seen;
  };

  Found readiest() const {
    Lacks best;
    std::size_t place = 0, index = 0;
    for (const int task : tasks_) {
      const Lacks lacks = where_->view->unready(task, where_->memory);
      if (!lacks.missing && !lacks.unplaced) return {index, index + 1};
      if (!index || lacks < best) {
        best = lacks;
        place = index;
      }
      ++index;
    }
    return {place, index};
  }

  // Lets the view keep what the tasks lack, if it can.
  void keep() {
    looks_ = 0;
    searches_ = tasks_.size();
    kept_ = where_->view->readiness(where_->memory);
    if (!kept_) return;
    for (const int task : tasks_) kept_->add(task);
    tasks_ = Line<int>{};
  }

  int pop_kept() {
    const int task = kept_->take();
    if (--searches_ && kept_->size()) return task;
    for (const int left : kept_->tasks()) tasks_.push_back(left);
    kept_.reset();
    return task;
  }

  const ReadyFirst *where_;
  Line<int> tasks_;
  i64 looks_ = 0;  // at tasks, more than a few per search
  std::unique_ptr<Readiness> kept_;
  std::size_t searches_ = 0;  // for how many more it is kept
};

}  // namespace tasksim
