// Release of tasks: which become ready when one ends, in replays and native runs alike.
#pragma once

#include <span>
#include <vector>

#include "../problem.h"

namespace tasksim {

// Counts what each task still waits for (runtime/release.py): its submission, its predecessors,
// and then its commutative data, which it takes together, in order of submission.
class Release {
 public:
  Release(const Graph &graph, bool submitted);

  // Releases tasks whether or not they can have their commutative data: who pushes them sees to that.
  void leave_turns_to_others() { exclusive_ = false; }

  // The tasks that wait for nothing, in order of submission.
  std::vector<int> sources();

  // The submission of *task*: the tasks that this releases.
  std::vector<int> submit(int task);

  // The end of *task*: appends the tasks that this releases to *freed*, in order of submission.
  void complete(int task, std::vector<int> &freed);

  // The same, when the successors hear of it one after the other (complete_in_turn): first who
  // waited for the data that *task* held; then each successor may wait for nothing but its own
  // data any more, which are then granted, or waited for.
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
  bool exclusive_;  // whether any task has commutative data
  std::vector<std::int32_t> missing_;
  std::vector<bool> held_;                 // per handle
  std::vector<std::vector<int>> waiting_;  // per handle: who lacks only handles, ascending
};

}  // namespace tasksim
