// Queue of one worker in the modular schedulers: by priority or not, data-aware or not
// (schedulers/modular_queue.py).
#pragma once

#include <map>

#include "data_readiness.h"
#include "scheduler.h"

namespace tasksim {

class WorkerQueue {
 public:
  WorkerQueue(View &view, Order order, int memory = 0)
      : priority_(view.graph.priority),
        by_priority_(order.by_priority),
        where_(std::make_unique<ReadyFirst>(order.ready_first ? &view : nullptr, memory)) {}

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
    const int task = highest->second.pop();
    if (!highest->second.size()) levels_.erase(highest);
    --size_;
    return task;
  }

 private:
  ReadyTasks &level(int task) {
    const i64 key = by_priority_ ? -static_cast<i64>(priority_[task]) : 0;
    return levels_.try_emplace(key, *where_).first->second;
  }

  std::span<const std::int32_t> priority_;
  bool by_priority_;
  std::unique_ptr<ReadyFirst> where_;  // at a place of its own: levels refer to it
  std::map<i64, ReadyTasks> levels_;   // by priority negated: the most urgent first
  std::size_t size_ = 0;
};

}  // namespace tasksim
