// Readiness: of many tasks that wait for one memory, the one that lacks the fewest bytes there
// (engine/data/readiness.py).
#pragma once

#include <algorithm>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "../../schedulers/scheduler.h"
#include "copies.h"

namespace tasksim {

// Tasks, each with what it lacks in *memory*, kept right as data come and go.
//
// When a datum has changed, the tasks that access it are looked at, and no others. Unlike in
// Python, where a heap is cleaned lazily, tasks are in a set, ordered by what they lack.
class DataReadiness : public Readiness {
 public:
  DataReadiness(const Copies &copies, const Graph &graph, int memory)
      : copies_(copies), graph_(graph), memory_(memory), changes_(copies.changes) {
    changes_->follow(memory, changed_);
  }
  ~DataReadiness() override { changes_->leave(memory_, changed_); }

  std::size_t size() const override { return order_.size(); }
  void add(int task) override { add(task, ++last_); }
  void add_first(int task) override { add(task, --first_); }

  int take() override {
    refresh();
    const int task = order_.begin()->task;
    waiting_.erase(task);
    order_.erase(order_.begin());
    return task;
  }

  std::vector<int> tasks() const override {
    std::vector<Waiting> waiting(order_.begin(), order_.end());
    std::ranges::sort(waiting, {}, &Waiting::place);
    std::vector<int> found;
    for (const Waiting &each : waiting) found.push_back(each.task);
    return found;
  }

 private:
  struct Waiting {
    Lacks lacks;
    i64 place;  // among the tasks
    int task;
    auto operator<=>(const Waiting &) const = default;
  };
  struct User {
    int task;
    i64 place;  // with which it was added: it may have been taken since, and added again
    bool reads;
  };
  struct Datum {
    Lacks lacks;  // what its readers lack of it
    std::vector<User> users;
  };
  using Ordered = std::set<Waiting>;

  void add(int task, i64 place) {
    Lacks lacks;
    for (const Need &need : graph_.needs[task]) {
      const auto [datum, added] = data_.try_emplace(need.handle);
      if (added) datum->second.lacks = lacking(need.handle);
      datum->second.users.push_back({task, place, need.reads});
      change(lacks, datum->second.lacks, need.reads, 1);
    }
    waiting_[task] = order_.insert({lacks, place, task}).first;
  }

  Lacks lacking(int handle) const {
    const i64 size = copies_.size[handle];
    const i64 missing = copies_.is_valid(handle, memory_) ? 0 : size;
    const i64 absent = copies_.coming[handle] >> memory_ & 1 ? 0 : missing;
    return {missing, absent, copies_.places[handle] >> memory_ & 1 ? 0 : size};
  }

  // Adds *lacks* of a datum to what a task lacks, or takes it away.
  static void change(Lacks &whole, const Lacks &lacks, bool reads, int sign) {
    if (reads) {
      whole.missing += sign * lacks.missing;
      whole.absent += sign * lacks.absent;
    }
    whole.unplaced += sign * lacks.unplaced;
  }

  // Looks at the tasks that access what has changed.
  void refresh() {
    for (const int handle : changed_) {
      const auto datum = data_.find(handle);
      if (datum == data_.end()) continue;
      const Lacks before = datum->second.lacks, now = lacking(handle);
      if (now == before) continue;
      datum->second.lacks = now;
      std::erase_if(datum->second.users, [&](const User &user) {
        const auto found = waiting_.find(user.task);
        if (found == waiting_.end() || found->second->place != user.place) return true;
        auto moved = order_.extract(found->second);
        change(moved.value().lacks, before, user.reads, -1);
        change(moved.value().lacks, now, user.reads, 1);
        found->second = order_.insert(std::move(moved)).position;
        return false;
      });
    }
    changed_.clear();
  }

  const Copies &copies_;
  const Graph &graph_;
  int memory_;
  std::shared_ptr<Changes> changes_;  // which may live longer than the copies
  Changes::Told changed_;
  Ordered order_;
  std::unordered_map<int, Ordered::iterator> waiting_;  // per task
  std::unordered_map<int, Datum> data_;
  i64 first_ = 0, last_ = 0;
};

}  // namespace tasksim
