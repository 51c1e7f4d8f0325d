// Copies: the memories that hold a valid copy of a datum, have a place for one, or await one.
#pragma once

#include <bit>
#include <memory>
#include <vector>

#include "changes.h"
#include "store.h"

namespace tasksim {

// The state of every datum in every memory, in masks of memories (engine/data/copies.py).
class Copies {
 public:
  Copies(const Graph &graph, const Platform &platform)
      : home(graph.home),
        of(graph.handles),
        changes(std::make_shared<Changes>(platform.memories)) {
    u64 homes = 0;  // the memory with the application's data is not limited
    for (int handle = 0; handle < graph.handles; ++handle) {
      const u64 there = bit(home[handle]);
      of[handle] = {there, there, 0, graph.size[handle]};
      homes |= there;
    }
    for (int memory = 0; memory < platform.memories; ++memory) {
      const double bytes = platform.memory_bytes[memory];
      const bool limited = bytes >= 0.0 && !(homes & bit(memory));
      stores.push_back(limited ? std::make_unique<Store>(bytes, platform.given, of, memory)
                               : nullptr);
    }
  }

  Store *store(int memory) const { return stores[memory].get(); }
  bool is_valid(int handle, int memory) const { return of[handle].valid >> memory & 1; }

  // Prefetches the record of a datum, which may be far from the processor.
  void send_for(int handle, int memory) const {
    __builtin_prefetch(&of[handle], 1);
    if (const Store *there = stores[memory].get()) there->send_for(handle);
  }

  void read(int handle, int memory) { set_valid(handle, of[handle].valid | bit(memory)); }
  void write(int handle, int memory) { set_valid(handle, bit(memory)); }

  // Notes that *handle* has a place in *memory*.
  void settle(int handle, int memory) {
    of[handle].places |= bit(memory);
    changes->note(handle, bit(memory));
    Store *store = stores[memory].get();
    if (!store) return;
    store->used_bytes += of[handle].size;
    store->settle(handle);
  }

  // Takes *handle* out of *memory*.
  void drop(int handle, int memory) {
    if (is_valid(handle, memory)) ++evictions;
    of[handle].places &= ~bit(memory);
    of[handle].valid &= ~bit(memory);
    changes->note(handle, bit(memory));
    if (Store *store = stores[memory].get()) {
      store->used_bytes -= of[handle].size;
      store->pool.give_back(of[handle].size);
      store->drop(handle);
    }
    tell(handle);
  }

  // Tells the store of *memory*, if it is searched for victims, that a datum became valid
  // elsewhere.
  void search(int memory) { searched_ |= bit(memory); }

  // Notes that a copy of *handle* was requested in *memory*.
  void expect(int handle, int memory) {
    of[handle].coming |= bit(memory);
    changes->note(handle, bit(memory));
  }

  // Notes that no copy of *handle* is on its way to *memory* any more.
  void expect_no_more(int handle, int memory) {
    of[handle].coming &= ~bit(memory);
    changes->note(handle, bit(memory));
  }

  // Makes *handle* the first to leave all limited memories.
  void will_not_be_used(int handle) {
    for (const auto &store : stores)
      if (store) store->will_not_be_used(handle);
  }

  bool is_last(int handle, int memory) const { return of[handle].valid == bit(memory); }

  std::span<const std::int32_t> home;
  std::vector<Whereabouts> of;  // per datum
  std::vector<std::unique_ptr<Store>> stores;
  std::shared_ptr<Changes> changes;
  i64 evictions = 0;

 private:
  void set_valid(int handle, u64 memories) {
    u64 &valid = of[handle].valid;
    if (valid == memories) return;
    changes->note(handle, valid ^ memories);
    valid = memories;
    tell(handle);
  }
  void tell(int handle) {
    for (u64 told = of[handle].places & searched_; told; told &= told - 1)
      stores[std::countr_zero(told)]->revalidated(handle);
  }

  u64 searched_ = 0;  // memories that are searched for victims
};

}  // namespace tasksim
