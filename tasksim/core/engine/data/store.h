// Store: the limited memory of a device, its data, and their order of leaving.
#pragma once

#include <vector>

#include "../../runtime/ledger.h"
#include "candidates.h"
#include "pool.h"

namespace tasksim {

// The memory of a device: its allocator, and its data from the least recently used
// (engine/data/store.py). A search for victims leaves the data that it passed sorted behind, until
// they are used again: so no search visits the same data twice. Rings, each with a head, hold the
// orders of unsorted data.
class Store {
 public:
  Store(double limit, const tasksim_platform &platform, const std::vector<Whereabouts> &of,
        int memory)
      : pool(limit, platform),
        handles_(static_cast<int>(of.size())),
        kept_(of.size() + 2),
        candidates_(of, memory, kept_) {
    for (const int head : {head_of(RECENT), head_of(UNNEEDED)})
      kept_[head].before = kept_[head].after = head;
  }
  Store(const Store &) = delete;

  // Notes that *handle* has a place from now on.
  void settle(int handle) { put(handle, RECENT); }

  // Notes that *handle* has left.
  void drop(int handle) {
    put(handle, OUT);
    candidates_.remove(handle);
    kept_[handle].wanted = 0;
  }

  // Notes a use of *handle*; unneeded data stay unneeded.
  void touch(int handle) {
    if (kept_[handle].ring == RECENT) {
      put(handle, RECENT);
    } else if (candidates_.has(handle)) {
      if (candidates_.is_needed(handle)) {
        candidates_.remove(handle);
        put(handle, RECENT);
      } else {
        candidates_.changed(handle);
      }
    }
  }

  // Notes that a task uses *handle* from now on, which may have been prefetched for it.
  void take(int handle) {
    if (kept_[handle].wanted) --kept_[handle].wanted;
    touch(handle);
  }

  // Notes that a task will need *handle* here, which counts as a use.
  void want(int handle) {
    ++kept_[handle].wanted;
    touch(handle);
  }

  void send_for(int handle) const { __builtin_prefetch(&kept_[handle], 1); }

  bool pinned(int handle) const { return kept_[handle].pinned; }
  void pin(int handle) { ++kept_[handle].pinned; }
  void unpin(int handle) {
    if (!kept_[handle].pinned) throw Broken{TASKSIM_BUG};
    if (!--kept_[handle].pinned) revalidated(handle);
  }

  // Notes that *handle* has become valid elsewhere, or stopped being so.
  void revalidated(int handle) {
    if (candidates_.has(handle)) candidates_.changed(handle);
  }

  // Lets *handle* leave before all data that may be needed, if it is here.
  void will_not_be_used(int handle) {
    if (kept_[handle].ring == RECENT) {
      put(handle, UNNEEDED);
    } else if (candidates_.has(handle) && candidates_.is_needed(handle)) {
      candidates_.remove(handle);
      put(handle, UNNEEDED);
    }
  }

  // The first datum of *size* that may leave and is valid elsewhere; -1 if there is none. With
  // *keep_wanted*, only one that no task wants.
  int victim(i64 size, bool keep_wanted) {
    sort_all(UNNEEDED);
    for (;;) {
      if (const auto first = candidates_.first(size, keep_wanted)) return first->second;
      if (!sort_first(RECENT)) return -1;
    }
  }

  // The first datum of any size that may leave and is valid elsewhere; -1: there is none.
  int any_victim(bool keep_wanted) {
    sort_everything();
    const auto first = candidates_.first_elsewhere(keep_wanted);
    return first ? first->second : -1;
  }

  // The first data that may leave and are valid nowhere else, with *size* bytes in total, or all.
  std::vector<int> only_copies(i64 size, bool keep_wanted) {
    sort_everything();
    return candidates_.only_copies(size, keep_wanted);
  }

  Pool pool;
  i64 used_bytes = 0;

 private:
  int head_of(Ring ring) const { return handles_ + (ring == UNNEEDED); }

  // Puts *handle* at the end of *ring*, or takes it out of all.
  void put(int handle, Ring ring) {
    Kept &kept = kept_[handle];
    if (kept.ring != OUT) {
      kept_[kept.before].after = kept.after;
      kept_[kept.after].before = kept.before;
    }
    kept.ring = ring;
    if (ring == OUT) return;
    const int head = head_of(ring);
    kept.before = kept_[head].before;
    kept.after = head;
    kept_[kept.before].after = handle;
    kept_[head].before = handle;
  }

  bool sort_first(Ring ring) {
    const int handle = kept_[head_of(ring)].after;
    if (handle == head_of(ring)) return false;
    put(handle, OUT);
    candidates_.add(handle, ring == UNNEEDED);
    return true;
  }

  void sort_all(Ring ring) {
    while (sort_first(ring)) {
    }
  }

  void sort_everything() {
    sort_all(UNNEEDED);
    sort_all(RECENT);
  }

  int handles_;
  std::vector<Kept> kept_;  // per datum, and the heads
  Candidates candidates_;
};

}  // namespace tasksim
