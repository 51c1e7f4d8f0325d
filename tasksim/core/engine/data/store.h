// Store: the limited memory of a device, what is in it, and what may leave it first.
#pragma once

#include <vector>

#include "../../runtime/ledger.h"
#include "pool.h"

namespace tasksim {

// The memory of a device: its allocator, and the data in it from the least recently used
// (engine/data/store.py). Its two orders are rings through a head each.
class Store {
 public:
  enum Order : std::int8_t { OUT, RECENT, UNNEEDED };

  Store(double limit, const tasksim_platform &platform, int handles)
      : pool(limit, platform),
        pinned(handles, 0),
        wanted(handles, 0),
        handles_(handles),
        before_(handles + 2),
        after_(handles + 2),
        order_(handles, OUT) {
    for (const int head : {head_of(RECENT), head_of(UNNEEDED)}) before_[head] = after_[head] = head;
  }

  bool holds(int handle) const { return order_[handle] != OUT; }
  bool is_recent(int handle) const { return order_[handle] == RECENT; }

  // *handle* was used just now.
  void touch(int handle) {
    if (is_recent(handle)) put(handle, RECENT);
  }

  // A task uses *handle* from now on, which may have been brought ahead for it.
  void take(int handle) {
    if (wanted[handle]) --wanted[handle];
    touch(handle);
  }

  // A task will need *handle* here, which counts as a use.
  void want(int handle) {
    ++wanted[handle];
    touch(handle);
  }

  void pin(int handle) { ++pinned[handle]; }
  void unpin(int handle) {
    if (!pinned[handle]) throw Broken{TASKSIM_BUG};
    --pinned[handle];
  }

  // Puts *handle* at the end of *order*, or out of all.
  void put(int handle, Order order) {
    if (holds(handle)) {
      after_[before_[handle]] = after_[handle];
      before_[after_[handle]] = before_[handle];
    }
    order_[handle] = order;
    if (order == OUT) return;
    const int head = head_of(order);
    before_[handle] = before_[head];
    after_[handle] = head;
    after_[before_[head]] = handle;
    before_[head] = handle;
  }

  // Calls visit(handle) for what may leave, that which nobody needs first, then the least recently
  // used, until it says false.
  template <class Visit>
  void victims(bool keep_wanted, Visit visit) const {
    for (const int head : {head_of(UNNEEDED), head_of(RECENT)})
      for (int handle = after_[head]; handle != head; handle = after_[handle])
        if (!pinned[handle] && !(keep_wanted && wanted[handle]) && !visit(handle)) return;
  }

  Pool pool;
  i64 used_bytes = 0;
  std::vector<std::int32_t> pinned;  // who uses a datum or its place right now
  std::vector<std::int32_t> wanted;  // tasks for which it was brought and that have not taken it

 private:
  int head_of(Order order) const { return handles_ + (order == UNNEEDED); }

  int handles_;
  std::vector<int> before_, after_;
  std::vector<Order> order_;
};

}  // namespace tasksim
