// Release of tasks: the tasks that become ready when one ends, in replays and native runs.
#pragma once

#include <span>
#include <vector>

#include "../problem.h"

namespace tasksim {

// Counts the conditions that each task still waits for (runtime/release.py): its submission, its
// predecessors, and then its commutative data, which it takes together, in order of submission.
class Release {
 public:
  Release(const Graph &graph, bool submitted);

  // Releases tasks even if their commutative data are taken: the code that pushes them checks that.
  void leave_turns_to_others() { exclusive_ = false; }

  // The tasks without any condition, in order of submission.
  std::vector<int> sources();

  // Notes the submission of *task*; returns the tasks that it releases.
  std::vector<int> submit(int task);

  // Notes the end of *task*; appends the tasks that it releases to *freed*, in order of submission.
  void complete(int task, std::vector<int> &freed);

  // The same, if the successors are notified one after the other (complete_in_turn). First come the
  // tasks that waited for the data that *task* held. Then each successor may lack only its own
  // data, which are then granted, or waited for.
  std::vector<int> give_back(int task);
  void send_for(int task) const { __builtin_prefetch(&missing_[task], 1); }
  bool lacks_one(int successor) const { return missing_[successor] == 1; }
  bool count_down(int successor) { return !--missing_[successor]; }
  bool grant(int task) { return !granted({task}).empty(); }

 private:
  std::vector<int> granted(const std::vector<int> &freed, std::span<const int> returned = {});
  bool free_for(int task) const;
  void wait(int task);
  void wait_no_more(int task);

  const Graph &graph_;
  bool exclusive_;  // whether a task has commutative data
  std::vector<std::int32_t> missing_;
  std::vector<bool> held_;                 // per handle
  std::vector<std::vector<int>> waiting_;  // per handle: tasks that lack only handles, ascending
};

}  // namespace tasksim
