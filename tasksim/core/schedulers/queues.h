// Queues of ready tasks, from which a worker takes the first task that it can run.
//
// As in schedulers/queues.py, tasks that the same classes can run share a lane.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "line.h"
#include "scheduler.h"

namespace tasksim {

// Tasks in the order in which they were pushed, in a shared queue.
class FifoQueue {
 public:
  explicit FifoQueue(const View &view) : view_(&view) {}

  i64 size() const { return size_; }

  void push(int task) {
    lane(view_->able[task]).push_back({pushed_++, task});
    ++size_;
    if (auto *log = view_->decisions.get()) log->queued(task, log->shared());
  }

  // Removes and returns the oldest task that *worker* can run; or NONE.
  int pop(int worker) {
    const u64 bit = u64{1} << view_->platform.class_of[worker];
    Line<Entry> *best = nullptr;
    for (auto &[able, entries] : lanes_)
      if (!entries.empty() && (able & bit) && (!best || entries.front() < best->front()))
        best = &entries;
    if (!best) return NONE;
    --size_;
    return best->pop_front().second;
  }

 private:
  using Entry = std::pair<i64, int>;  // the number of the push, and the task

  Line<Entry> &lane(u64 able) {
    for (auto &[mask, entries] : lanes_)
      if (mask == able) return entries;
    return lanes_.emplace_back(able, Line<Entry>{}).second;
  }

  const View *view_;
  std::vector<std::pair<u64, Line<Entry>>> lanes_;
  i64 pushed_ = 0, size_ = 0;
};

// Tasks by priority; inside one level, in the order in which they were pushed.
class PriorityQueue {
 public:
  explicit PriorityQueue(const View &view) : PriorityQueue(view, view.graph.priority, 0) {}

  // The queue of one worker.
  static PriorityQueue of_worker(const View &view, int owner) {
    PriorityQueue own(view);
    own.owner_ = owner;
    return own;
  }

  // Uses priorities other than the application's; *number*: its place among the shared queues.
  PriorityQueue(const View &view, std::span<const std::int32_t> priority, int number)
      : view_(&view), priority_(priority), number_(number) {}

  i64 size() const { return size_; }

  void push(int task) {
    const i64 key = -static_cast<i64>(priority_[task]);
    lane(view_->able[task])[key].push_back({pushed_++, task});
    ++size_;
    if (auto *log = view_->decisions.get())
      log->queued(task, owner_ == NONE ? log->shared(number_) : owner_, key);
  }

  // Removes and returns the oldest, or newest, task of the highest level that *worker* can run.
  int pop(int worker) { return take(worker, false); }
  int pop_newest(int worker) { return take(worker, true); }

 private:
  using Entry = std::pair<i64, int>;
  using Lane = std::map<i64, Line<Entry>>;  // by priority negated: the most urgent first

  Lane &lane(u64 able) {
    for (auto &[mask, levels] : lanes_)
      if (mask == able) return levels;
    return lanes_.emplace_back(able, Lane{}).second;
  }

  static bool before(const Lane &one, const Lane &other, bool newest) {
    const auto &[level, entries] = *one.begin();
    const auto &[best_level, best] = *other.begin();
    if (level != best_level) return level < best_level;
    return newest ? entries.back() > best.back() : entries.front() < best.front();
  }

  int take(int worker, bool newest) {
    const u64 bit = u64{1} << view_->platform.class_of[worker];
    Lane *best = nullptr;
    for (auto &[able, levels] : lanes_)
      if (!levels.empty() && (able & bit) && (!best || before(levels, *best, newest)))
        best = &levels;
    if (!best) return NONE;
    const auto level = best->begin();
    auto &entries = level->second;
    const int task = (newest ? entries.pop_back() : entries.pop_front()).second;
    if (entries.empty()) best->erase(level);
    --size_;
    return task;
  }

  const View *view_;
  std::span<const std::int32_t> priority_;
  int number_ = 0, owner_ = NONE;
  std::vector<std::pair<u64, Lane>> lanes_;
  i64 pushed_ = 0, size_ = 0;
};

}  // namespace tasksim
