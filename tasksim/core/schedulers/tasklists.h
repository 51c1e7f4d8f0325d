// Queues of one worker in the dm family: in the order of pushes, or by priority
// (schedulers/queues.py).
#pragma once

#include <vector>

#include "data_readiness.h"
#include "levels.h"
#include "scheduler.h"

namespace tasksim {

// Tasks that wait for one worker.
class TaskList {
 public:
  virtual ~TaskList() = default;
  virtual std::size_t size() const = 0;
  virtual void append(int task) = 0;  // after those that go before it
  virtual int pop() = 0;              // removes and returns the first task
  virtual int likely() const = 0;     // the likely first task, if there are any; NONE: unknown
};

// Tasks in the order in which they were pushed, whatever their priorities.
class PushOrder : public TaskList {
 public:
  explicit PushOrder(ReadyFirst where = {}) : where_(where), tasks_(where_) {}

  std::size_t size() const override { return tasks_.size(); }
  void append(int task) override { tasks_.push_back(task); }
  int pop() override { return tasks_.pop(); }
  int likely() const override { return tasks_.likely(); }

 private:
  ReadyFirst where_;
  ReadyTasks tasks_;
};

// Tasks by priority; inside one level, in the order in which they were pushed.
class SortedTasks : public TaskList {
 public:
  explicit SortedTasks(const Ranks &ranks, ReadyFirst where = {})
      : rank_of_(ranks.of), levels_(ranks.count), where_(where) {}

  std::size_t size() const override { return size_; }

  void append(int task) override {
    std::int32_t &place = levels_.at(rank_of_[task], NONE);
    ++size_;
    if (place == NONE) {
      place = single(task);
      return;
    }
    if (is_single(place)) {
      const int first = single(place);
      place = new_list();
      lists_[place].push_back(first);
    }
    lists_[place].push_back(task);
  }

  int likely() const override {
    const auto place = levels_.first().place;
    return is_single(place) ? single(place) : lists_[place].likely();
  }

  int pop() override {
    const auto [rank, place] = levels_.first();
    --size_;
    if (is_single(place)) {
      levels_.remove(rank);
      return single(place);
    }
    const int task = lists_[place].pop();
    if (!lists_[place].size()) {
      levels_.remove(rank);
      spare_.push_back(place);
    }
    return task;
  }

 protected:
  std::span<const std::int32_t> rank_of_;
  Levels levels_;  // the list of each level, or its only task

 private:
  // A task in the place of a list, and back: if tasks have distinct priorities, there is one per
  // level, which needs no list.
  static std::int32_t single(int task) { return -2 - task; }
  static bool is_single(std::int32_t place) { return place < NONE; }

  // Levels come and go, so lists are reused.
  std::int32_t new_list() {
    if (spare_.empty()) {
      lists_.emplace_back(where_);
      return static_cast<std::int32_t>(lists_.size() - 1);
    }
    const std::int32_t place = spare_.back();
    spare_.pop_back();
    lists_[place].begin_again();
    return place;
  }

  ReadyFirst where_;
  std::size_t size_ = 0;
  std::vector<ReadyTasks> lists_;
  std::vector<std::int32_t> spare_;  // empty lists
};

}  // namespace tasksim
