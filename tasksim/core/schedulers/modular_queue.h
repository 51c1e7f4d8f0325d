// Queue of one worker in the modular schedulers: by priority or not, data-aware or not
// (schedulers/modular_queue.py).
#pragma once

#include <map>

#include "data_readiness.h"
#include "line.h"
#include "scheduler.h"

namespace tasksim {

class WorkerQueue {
 public:
  WorkerQueue(View &view, Order order, int memory = 0)
      : view_(&view), order_(order), memory_(memory) {}

  std::size_t size() const { return size_; }

  void push(int task) {
    level(task).push_back(task);
    ++size_;
  }

  // Puts *task*, which was popped, in front of its level.
  void give_back(int task) {
    level(task).push_front(task);
    ++size_;
  }

  // The oldest task of the highest level, which stays; or NONE.
  int first() const { return size_ ? levels_.begin()->second.front() : NONE; }

  // The task to run next, removed; or NONE.
  int pop() {
    if (!size_) return NONE;
    const auto highest = levels_.begin();
    auto &level = highest->second;
    const bool choose = order_.ready_first && level.size() > 1;
    const int task = level.take(choose ? first_ready(level, memory_, *view_) : 0);
    if (level.empty()) levels_.erase(highest);
    --size_;
    return task;
  }

 private:
  Line<int> &level(int task) {
    return levels_[order_.by_priority ? -static_cast<i64>(view_->graph.priority[task]) : 0];
  }

  View *view_;
  Order order_;
  int memory_;
  std::map<i64, Line<int>> levels_;  // by priority negated: the most urgent first
  std::size_t size_ = 0;
};

}  // namespace tasksim
