// Readiness of data: the task of a worker's queue that lacks the fewest bytes goes first
// (schedulers/queues.py).
#pragma once

#include <algorithm>
#include <memory>

#include "line.h"
#include "scheduler.h"

namespace tasksim {

// Order of a worker's queue.
struct Order {
  bool by_priority = false;
  bool ready_first = false;  // most urgent tasks: fewest missing bytes first
};

// The memory in which a queue looks for the data of its tasks.
struct ReadyFirst {
  View *view = nullptr;  // null: nowhere; the first task goes first
  int memory = 0;
};

// Tasks in the order in which they were pushed, and the choice of the next one.
//
// The next task is the one that lacks fewest bytes in the memory; of equals, the first. A search
// ends at a task that lacks nothing. Unlike in Python, tasks are either in the line or, if the view
// keeps their missing bytes, there.
class ReadyTasks {
 public:
  explicit ReadyTasks(const ReadyFirst &where) : where_(&where) {}

  std::size_t size() const { return kept_ ? kept_->size() : tasks_.size(); }
  int front() const { return tasks_.front(); }  // only if the order is that of pushes

  int likely() const { return kept_ ? NONE : tasks_.front(); }  // likely next; needs some tasks

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

  // For an empty queue: resets all counts.
  void begin_again() {
    tasks_.clear();
    looks_ = 0;
  }

  // Removes and returns the next task.
  int pop() {
    if (kept_) return pop_kept();
    if (!where_->view || tasks_.size() == 1) return tasks_.pop_front();
    const auto [place, seen] = readiest();
    const int task = tasks_.take(place);
    looks_ = std::max<i64>(0, looks_ + static_cast<i64>(seen) - SEARCH_LENGTH_THRESHOLD);
    if (looks_ > EXCESS_TASKS_THRESHOLD) keep();
    return task;
  }

 private:
  // Searches that look at few tasks on average cost less than keeping the missing bytes. When
  // searches have looked at many more, the view keeps them, for as many searches as there are
  // tasks. The numbers differ from Python's: here a look is cheaper relative to keeping.
  static constexpr i64 SEARCH_LENGTH_THRESHOLD = 64, EXCESS_TASKS_THRESHOLD = 4096;

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

  // Lets the view keep the missing bytes of the tasks, if it can.
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
  i64 looks_ = 0;  // looks at tasks beyond a few per search
  std::unique_ptr<Readiness> kept_;
  std::size_t searches_ = 0;  // searches for which the view still keeps them
};

}  // namespace tasksim
