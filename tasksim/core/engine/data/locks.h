// Locks of data that are being handed to a copy engine: no other code may look at them meanwhile.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "../routine.h"

namespace tasksim {

// The ticks until which data are locked (engine/data/handling.py). Others poll every *poll* ticks.
//
// Unlike in Python, only locked data are kept: there are no more of them than drivers.
class Locks {
 public:
  Locks(const Clock &clock, i64 poll) : clock_(clock), poll_(poll) {}

  bool any() const { return !locked_.empty(); }

  void lock(int handle, i64 until) {
    const auto found = find(handle);
    if (found == locked_.end())
      locked_.push_back({handle, until});
    else
      found->until = until;
  }
  void unlock(int handle) {
    const auto found = find(handle);
    if (found == locked_.end()) return;
    *found = locked_.back();
    locked_.pop_back();
  }

  // Ticks to wait before the next look at *handle*; 0: it is free.
  i64 wait_ticks(int handle) const {
    for (const Locked &each : locked_)
      if (each.handle == handle) return ticks_until(each.until);
    return 0;
  }

  // Waits until each of the data in *needs* was free once.
  Steps<> all_free(std::span<const Need> needs) const {
    for (const Need &need : needs)
      while (const i64 delay = wait_ticks(need.handle)) co_await Wait{delay};
  }

 private:
  struct Locked {
    int handle;
    i64 until;  // the tick at which it becomes free
  };

  std::vector<Locked>::iterator find(int handle) {
    return std::find_if(locked_.begin(), locked_.end(),
                        [handle](const Locked &each) { return each.handle == handle; });
  }

  i64 ticks_until(i64 time) const {
    const i64 left = time - clock_.now;
    if (left <= 0) return 0;
    return poll_ ? (left + poll_ - 1) / poll_ * poll_ : left;
  }

  const Clock &clock_;
  i64 poll_;
  std::vector<Locked> locked_;
};

}  // namespace tasksim
