// Queues of one worker in the dm family: in the order of pushes, or by priority
// (schedulers/tasklists.py).
#pragma once

#include <map>

#include "line.h"
#include "scheduler.h"

namespace tasksim {

// Tasks that wait for one worker.
class TaskList {
 public:
  virtual ~TaskList() = default;
  virtual std::size_t size() const = 0;
  virtual void append(int task) = 0;            // behind those that go before it
  virtual const Line<int> &urgent() const = 0;  // those that have the priority of the first
  virtual int take(std::size_t place) = 0;      // the task at *place* among these, removed
};

// Tasks in the order in which they were pushed; to it, all priorities are equal.
class PushOrder : public TaskList {
 public:
  std::size_t size() const override { return tasks_.size(); }
  void append(int task) override { tasks_.push_back(task); }
  const Line<int> &urgent() const override { return tasks_; }
  int take(std::size_t place) override { return tasks_.take(place); }

 private:
  Line<int> tasks_;
};

// Tasks by priority; inside one level, in the order in which they were pushed.
class SortedTasks : public TaskList {
 public:
  explicit SortedTasks(std::span<const std::int32_t> priority) : priority_(priority) {}

  std::size_t size() const override { return size_; }

  void append(int task) override {
    levels_[key_of(task)].push_back(task);
    ++size_;
  }

  const Line<int> &urgent() const override { return levels_.begin()->second; }

  int take(std::size_t place) override {
    const auto level = levels_.begin();
    const int task = level->second.take(place);
    if (level->second.empty()) levels_.erase(level);
    --size_;
    return task;
  }

 protected:
  static i64 key(int priority) { return -static_cast<i64>(priority); }
  i64 key_of(int task) const { return key(priority_[task]); }

  std::span<const std::int32_t> priority_;
  std::map<i64, Line<int>> levels_;  // by priority negated: the most urgent first

 private:
  std::size_t size_ = 0;
};

}  // namespace tasksim
