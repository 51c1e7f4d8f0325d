// Changes: which data have come to a memory or left it, for those who follow that
// (engine/data/changes.py).
#pragma once

#include <bit>
#include <unordered_set>
#include <vector>

#include "../../problem.h"

namespace tasksim {

class Changes {
 public:
  using Told = std::unordered_set<int>;

  explicit Changes(int memories) : followers_(memories) {}

  // Adds to *told* every datum that changes in *memory* from now on.
  void follow(int memory, Told &told) {
    followers_[memory].push_back(&told);
    followed_ |= u64{1} << memory;
  }

  void leave(int memory, Told &told) {
    auto &followers = followers_[memory];
    std::erase(followers, &told);
    if (followers.empty()) followed_ &= ~(u64{1} << memory);
  }

  // *handle* has changed in *memories*, a mask.
  void note(int handle, u64 memories) {
    for (memories &= followed_; memories; memories &= memories - 1)
      for (Told *told : followers_[std::countr_zero(memories)]) told->insert(handle);
  }

 private:
  u64 followed_ = 0;  // the memories that anybody follows
  std::vector<std::vector<Told *>> followers_;
};

}  // namespace tasksim
