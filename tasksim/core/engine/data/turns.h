// Turns of workers that share a memory which may be too small for the data of all their tasks.
#pragma once

#include <deque>
#include <map>
#include <span>
#include <vector>

#include "copies.h"

namespace tasksim {

// A worker that requests the data of its task in its turn.
class TurnTaker {
 public:
  virtual bool take_turn() = 0;  // returns whether it has to wait for data

 protected:
  ~TurnTaker() = default;
};

// The workers that may fetch data to the memory of a pool now, and those that wait
// (engine/data/turns.py).
class Turns {
 public:
  Turns(const Pool &pool, std::span<const i64> sizes) : pool_(pool), sizes_(sizes) {}

  // Calls take_turn of a task that needs *needs* in its turn: now, or later.
  void ask(std::span<const Need> needs, TurnTaker &taker) {
    waiting_.push_back({needs, &taker});
    go_on();
  }

  // Notes that a task has all its data.
  void completed() {
    --incomplete_;
    go_on();
  }

  // Notes that a task does not need its data any more.
  void leave(std::span<const Need> needs) {
    for (const Need &need : needs) {
      const auto held = held_.find(need.handle);
      if (held == held_.end()) throw Broken{TASKSIM_BUG};
      if (!--held->second) held_.erase(held);
    }
    go_on();
  }

 private:
  struct Waiting {
    std::span<const Need> needs;
    TurnTaker *taker;
  };

  void go_on() {
    while (!waiting_.empty() && free_for(waiting_.front().needs)) {
      const Waiting next = waiting_.front();
      waiting_.pop_front();
      for (const Need &need : next.needs) ++held_[need.handle];
      if (next.taker->take_turn()) ++incomplete_;
    }
  }

  bool free_for(std::span<const Need> needs) const {
    if (!incomplete_) return true;
    std::vector<i64> together;
    for (const auto &[handle, count] : held_) together.push_back(sizes_[handle]);
    std::vector<int> others;
    for (const Need &need : needs)
      if (!held_.contains(need.handle)) others.push_back(need.handle);
    std::sort(others.begin(), others.end());
    others.erase(std::unique(others.begin(), others.end()), others.end());
    for (const int handle : others) together.push_back(sizes_[handle]);
    return pool_.fits(together);
  }

  const Pool &pool_;
  std::span<const i64> sizes_;
  std::map<int, i64> held_;  // tasks per held datum
  i64 incomplete_ = 0;
  std::deque<Waiting> waiting_;
};

}  // namespace tasksim
