// Commuting updates in threads: the task that holds a datum, those that wait, those that come
// after.
#pragma once

#include <algorithm>
#include <deque>
#include <unordered_map>
#include <vector>

#include "../machine/node.h"

namespace tasksim::threads {

// Tasks that update data in any order, one at a time. A task takes its data one after the other,
// and keeps them while it waits for the next; a datum goes to waiting tasks in order of arrival.
class Updates {
 public:
  explicit Updates(Node &node) : node_(node), graph_(node.graph) {
    if (graph_.exclusive.empty()) return;
    held_.resize(graph_.handles);
    handles_ = graph_.exclusive;  // by number: so waits never form a circle
    for (int task = 0; task < graph_.tasks; ++task)
      std::sort(handles_.items.begin() + handles_.ptr[task],
                handles_.items.begin() + handles_.ptr[task + 1]);
    find_runs();
  }

  // The data that *task* updates.
  std::span<const std::int32_t> of(int task) const {
    return handles_.empty() ? std::span<const std::int32_t>{} : handles_[task];
  }

  // Takes the data of *task* from *first* on; returns whether it has them all now.
  bool take(int task, std::size_t first = 0) {
    const auto handles = of(task);
    for (std::size_t place = first; place < handles.size(); ++place) {
      if (held_[handles[place]]) {
        waiting_[handles[place]].emplace_back(task, place);
        return false;
      }
      held_[handles[place]] = true;
    }
    return true;
  }

  // Gives *handle* to the next waiting task; returns the task if it has all its data now, or NONE.
  int give(int handle) {
    auto &waiting = waiting_[handle];
    if (waiting.empty()) {
      held_[handle] = false;
      return NONE;
    }
    const auto [task, place] = waiting.front();
    waiting.pop_front();
    return take(task, place + 1) ? task : NONE;
  }

  // Whether an empty task between *task* and *successor* exists: StarPU has one if several updates
  // had not ended when the successor was submitted.
  bool pushes_empty(int task, int successor) {
    bool pushes = false;
    if (runs_of_.empty()) return pushes;
    for (const int number : runs_of_[task]) {
      Run &run = runs_[number];
      if (run.follower == successor && !--run.left) pushes |= several(run);
    }
    return pushes;
  }

 private:
  struct Run {
    std::vector<int> members;
    int follower;
    int left;
  };

  bool several(const Run &run) const {
    const double submitted = node_.ledger.of[run.follower].submitted;
    return std::count_if(run.members.begin(), run.members.end(), [&](int task) {
             return node_.ledger.of[task].end > submitted;
           }) > 1;
  }

  // The tasks that update a datum, several in a row, and the next accesses after them.
  void find_runs() {
    runs_of_.resize(graph_.tasks);
    std::vector<int> place(graph_.tasks);
    for (int each = 0; each < graph_.tasks; ++each) place[node_.submitted_at(each)] = each;
    Ragged<Use> uses = uses_of(graph_);
    for (int handle = 0; handle < graph_.handles; ++handle) {
      const auto begin = uses.items.begin() + uses.ptr[handle];
      const auto end = uses.items.begin() + uses.ptr[handle + 1];
      std::sort(begin, end, [&](const Use &one, const Use &other) {
        return place[one.task] < place[other.task];
      });
      std::vector<int> members;
      for (auto use = begin; use != end; ++use) {
        if (use->commutes) {
          members.push_back(use->task);
          continue;
        }
        if (members.size() > 1) add(members, use->task);
        members.clear();
      }
    }
  }

  void add(const std::vector<int> &members, int follower) {
    for (const int task : members) runs_of_[task].push_back(static_cast<int>(runs_.size()));
    runs_.push_back({members, follower, static_cast<int>(members.size())});
  }

  Node &node_;
  const Graph &graph_;
  Ragged<std::int32_t> handles_;                                             // per task
  std::vector<bool> held_;                                                   // per handle
  std::unordered_map<int, std::deque<std::pair<int, std::size_t>>> waiting_;  // per handle
  std::vector<Run> runs_;
  std::vector<std::vector<int>> runs_of_;  // per task
};

}  // namespace tasksim::threads
