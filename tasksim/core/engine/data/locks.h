// Locks of data that are being handed to a copy engine: nobody else may look at them meanwhile.
#pragma once

#include <span>
#include <vector>

#include "../routine.h"

namespace tasksim {

// Until when each datum is locked (engine/data/locks.py). Others look again every *poll* ticks.
class Locks {
 public:
  Locks(const Clock &clock, i64 poll, int handles) : clock_(clock), poll_(poll), until_(handles, 0) {}

  bool any() const { return count_; }

  void lock(int handle, i64 until) {
    if (!until_[handle]) ++count_;
    until_[handle] = until;
  }
  void unlock(int handle) {
    if (until_[handle]) --count_;
    until_[handle] = 0;
  }

  // How many ticks to wait before looking at *handle* again; 0: it is free.
  i64 wait_ticks(int handle) const {
    if (!count_) return 0;
    const i64 left = until_[handle] - clock_.now;
    if (left <= 0) return 0;
    return poll_ ? (left + poll_ - 1) / poll_ * poll_ : left;
  }

  // Waits until each of the data in *needs* was free once.
  Steps<> all_free(std::span<const Need> needs) const {
    for (const Need &need : needs)
      while (const i64 delay = wait_ticks(need.handle)) co_await Wait{delay};
  }

 private:
  const Clock &clock_;
  i64 poll_;
  std::vector<i64> until_;  // per datum the tick at which it is free again; 0: it is
  i64 count_ = 0;
};

}  // namespace tasksim
