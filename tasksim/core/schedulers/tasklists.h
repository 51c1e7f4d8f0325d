// Queues of one worker in the dm family: in the order of pushes, or by priority
// (schedulers/tasklists.py).
#pragma once

#include <map>

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
    levels_.try_emplace(key_of(task), where_).first->second.push_back(task);
    ++size_;
  }

  int pop() override {
    const auto level = levels_.begin();
    const int task = level->second.pop();
    if (!level->second.size()) levels_.erase(level);
    --size_;
    return task;
  }

 protected:
  static i64 key(int priority) { return -static_cast<i64>(priority); }
  i64 key_of(int task) const { return key(priority_[task]); }

  std::span<const std::int32_t> priority_;
  std::map<i64, ReadyTasks> levels_;  // by priority negated: the most urgent first

 private:
  ReadyFirst where_;
  std::size_t size_ = 0;
};

}  // namespace tasksim
