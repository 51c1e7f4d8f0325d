// Changes: the data that have come to a memory or left it, for followers (engine/data/copies.py).
#pragma once

#include <bit>
#include <vector>

#include "whereabouts.h"

namespace tasksim {

// A follower of the data that change in a memory.
class Follower {
 public:
  virtual void changed(int handle) = 0;

 protected:
  ~Follower() = default;
};

class Changes {
 public:
  explicit Changes(int memories) : followers_(memories) {}

  // Notifies *follower* of every datum that changes in *memory* from now on.
  void follow(int memory, Follower &follower) {
    followers_[memory].push_back(&follower);
    followed_ |= bit(memory);
  }

  void leave(int memory, Follower &follower) {
    auto &followers = followers_[memory];
    std::erase(followers, &follower);
    if (followers.empty()) followed_ &= ~bit(memory);
  }

  // Notes that *handle* has changed in *memories*, a mask.
  void note(int handle, u64 memories) {
    for (memories &= followed_; memories; memories &= memories - 1)
      for (Follower *follower : followers_[std::countr_zero(memories)]) follower->changed(handle);
  }

 private:
  u64 followed_ = 0;  // memories with followers
  std::vector<std::vector<Follower *>> followers_;
};

}  // namespace tasksim
