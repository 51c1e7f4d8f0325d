#include "eviction.h"

namespace tasksim {

Eviction::Eviction(const Clock &clock, Copies &copies, OpenRequests &requests, CopyLog &log,
                   const Platform &platform)
    : clock_(clock),
      copies_(copies),
      requests_(requests),
      log_(log),
      allocate_(platform.given.allocate),
      free_(platform.given.free),
      starved_(platform.memories, false) {}

Steps<bool> Eviction::place(RequestRef request, Store &store) {
  const int memory = request->target;
  const i64 size = copies_.of[request->handle].size;
  auto found = store.pool.allocate(size);
  if (!found && request->kind != IDLE)
    found = make_room(store, memory, size, request->kind == PREFETCH);
  if (!found) {
    starved_[memory] = true;
    co_return false;
  }
  copies_.settle(request->handle, memory);
  log_.changed(memory, store.used_bytes, clock_.now);
  const i64 cost = found->allocations * allocate_ + found->releases * free_;
  if (cost) {
    const i64 now = clock_.now;
    allocator_free_ = later(std::max(now, allocator_free_), cost);
    co_await Wait{allocator_free_ - now};
  }
  co_return true;
}

void Eviction::unpinned(int memory) {
  if (!starved_[memory]) return;
  starved_[memory] = false;
  requests_.keepers[memory]->notify();
}

void Eviction::written_back(Store &store, int handle, int memory) {
  const bool there = copies_.of[handle].places >> memory & 1;
  if (there && !store.pinned(handle) && !copies_.is_last(handle, memory))
    drop(store, handle, memory);
  starved_[memory] = false;
  requests_.keepers[memory]->notify();
}

// Evicts data until *size* bytes fit: first data that are valid elsewhere, best of equal size. Data
// that only this memory has are written home and leave after that.
std::optional<DriverCalls> Eviction::make_room(Store &store, int memory, i64 size,
                                               bool keep_wanted) {
  copies_.search(memory);
  const int equal = store.victim(size, keep_wanted);
  if (equal >= 0) {
    drop(store, equal, memory);
    return store.pool.allocate(size);  // the room of the evicted datum
  }
  for (int victim; (victim = store.any_victim(keep_wanted)) >= 0;) {
    drop(store, victim, memory);
    if (const auto found = store.pool.allocate(size)) return found;
  }
  for (const int only : store.only_copies(WRITE_BACK_FACTOR * size, keep_wanted))
    write_back(only, memory);
  return std::nullopt;
}

void Eviction::drop(Store &store, int handle, int memory) {
  copies_.drop(handle, memory);
  log_.changed(memory, store.used_bytes, clock_.now);
}

// Requests that the only copy of *handle*, which must leave *memory*, is written home.
void Eviction::write_back(int handle, int memory) {
  RequestRef request =
      requests_.ask({handle, true, false}, copies_.home[handle], {FETCH, NOBODY, 0});
  while (request->source != memory) {  // over another memory: the first copy is the one that counts
    RequestRef before;
    for (const auto &each : requests_.of[handle].requests)
      if (each.request->next_hop().get() == request.get()) {
        before = each.request;
        break;
      }
    if (!before) return;
    request = before;
  }
  request->reason = WRITE_BACK;
}

}  // namespace tasksim
