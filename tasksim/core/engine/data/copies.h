// Copies: which memory holds a valid copy of which datum, a place for one, or awaits one.
#pragma once

#include <memory>
#include <vector>

#include "changes.h"
#include "store.h"

namespace tasksim {

inline u64 bit(int memory) { return u64{1} << memory; }

// The state of every datum in every memory, in masks of memories (engine/data/copies.py).
class Copies {
 public:
  Copies(const Graph &graph, const Platform &platform)
      : size(graph.size),
        home(graph.home),
        valid(graph.handles),
        coming(graph.handles, 0),
        changes(std::make_shared<Changes>(platform.memories)) {
    u64 homes = 0;  // the memory that holds the application's data is not bounded
    for (int handle = 0; handle < graph.handles; ++handle) {
      valid[handle] = bit(home[handle]);
      homes |= valid[handle];
    }
    places = valid;
    for (int memory = 0; memory < platform.memories; ++memory) {
      const double bytes = platform.memory_bytes[memory];
      const bool limited = bytes >= 0.0 && !(homes & bit(memory));
      stores.push_back(limited ? std::make_unique<Store>(bytes, platform.given, size, valid, memory)
                               : nullptr);
    }
  }

  Store *store(int memory) const { return stores[memory].get(); }
  bool is_valid(int handle, int memory) const { return valid[handle] >> memory & 1; }

  void read(int handle, int memory) { set_valid(handle, valid[handle] | bit(memory)); }
  void write(int handle, int memory) { set_valid(handle, bit(memory)); }

  // *handle* was given a place in *memory*.
  void settle(int handle, int memory) {
    places[handle] |= bit(memory);
    changes->note(handle, bit(memory));
    Store *store = stores[memory].get();
    if (!store) return;
    store->used_bytes += size[handle];
    store->settle(handle);
  }

  // Takes *handle* out of *memory*.
  void drop(int handle, int memory) {
    if (is_valid(handle, memory)) ++evictions;
    places[handle] &= ~bit(memory);
    valid[handle] &= ~bit(memory);
    changes->note(handle, bit(memory));
    if (Store *store = stores[memory].get()) {
      store->used_bytes -= size[handle];
      store->pool.give_back(size[handle]);
      store->drop(handle);
    }
    tell(handle);
  }

  // Tells *store*, where somebody looks for victims, of what becomes valid elsewhere.
  void search(Store &store) {
    if (store.searched) return;
    store.searched = true;
    searched_.push_back(&store);
  }

  // A copy of *handle* was asked for in *memory*.
  void expect(int handle, int memory) {
    coming[handle] |= bit(memory);
    changes->note(handle, bit(memory));
  }

  // No copy of *handle* is on its way to *memory* any more.
  void expect_no_more(int handle, int memory) {
    coming[handle] &= ~bit(memory);
    changes->note(handle, bit(memory));
  }

  // Lets *handle* be the first to leave wherever room is made.
  void will_not_be_used(int handle) {
    for (const auto &store : stores)
      if (store) store->will_not_be_used(handle);
  }

  bool is_last(int handle, int memory) const { return valid[handle] == bit(memory); }

  std::span<const i64> size;
  std::span<const std::int32_t> home;
  std::vector<u64> valid, places, coming;
  std::vector<std::unique_ptr<Store>> stores;
  std::shared_ptr<Changes> changes;
  i64 evictions = 0;

 private:
  void set_valid(int handle, u64 memories) {
    if (valid[handle] == memories) return;
    changes->note(handle, valid[handle] ^ memories);
    valid[handle] = memories;
    tell(handle);
  }
  void tell(int handle) {
    for (Store *store : searched_) store->revalidated(handle);
  }

  std::vector<Store *> searched_;
};

}  // namespace tasksim
