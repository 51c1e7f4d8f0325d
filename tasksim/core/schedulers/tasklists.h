// Queues of one worker in the dm family: in the order of pushes, or by priority
// (schedulers/tasklists.py).
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "data_readiness.h"
#include "scheduler.h"

namespace tasksim {

// Tasks that wait for one worker.
class TaskList {
 public:
  virtual ~TaskList() = default;
  virtual std::size_t size() const = 0;
  virtual void append(int task) = 0;  // behind those that go before it
  virtual int pop() = 0;              // the task that goes first, removed
};

// Tasks in the order in which they were pushed; to it, all priorities are equal.
class PushOrder : public TaskList {
 public:
  explicit PushOrder(ReadyFirst where = {}) : where_(where), tasks_(where_) {}

  std::size_t size() const override { return tasks_.size(); }
  void append(int task) override { tasks_.push_back(task); }
  int pop() override { return tasks_.pop(); }

 private:
  ReadyFirst where_;
  ReadyTasks tasks_;
};

// Tasks by priority; inside one level, in the order in which they were pushed.
class SortedTasks : public TaskList {
 public:
  explicit SortedTasks(std::span<const std::int32_t> priority, ReadyFirst where = {})
      : priority_(priority), where_(where) {}

  std::size_t size() const override { return size_; }

  void append(int task) override {
    level(key_of(task)).push_back(task);
    ++size_;
  }

  int pop() override {
    const auto level = levels_.begin();
    const int task = level->second.pop();
    if (!level->second.size()) spare_.push_back(levels_.extract(level));
    --size_;
    return task;
  }

 protected:
  static i64 key(int priority) { return -static_cast<i64>(priority); }
  i64 key_of(int task) const { return key(priority_[task]); }

  std::span<const std::int32_t> priority_;
  std::map<i64, ReadyTasks> levels_;  // by priority negated: the most urgent first

 private:
  using Levels = std::map<i64, ReadyTasks>;

  // Where tasks often have priorities of their own, levels come and go with each: they are kept.
  ReadyTasks &level(i64 key) {
    const auto next = levels_.lower_bound(key);
    if (next != levels_.end() && next->first == key) return next->second;
    if (spare_.empty()) return levels_.try_emplace(next, key, where_)->second;
    Levels::node_type made = std::move(spare_.back());
    spare_.pop_back();
    made.key() = key;
    made.mapped().begin_again();
    return levels_.insert(next, std::move(made))->second;
  }

  ReadyFirst where_;
  std::size_t size_ = 0;
  std::vector<Levels::node_type> spare_;  // levels without tasks
};

}  // namespace tasksim
