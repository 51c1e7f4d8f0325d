#include "mover.h"

namespace tasksim {

int Mover::fetch(std::span<const Need> needs, Taker &taker) {
  const int memory = taker.memory;
  Store *store = copies_.store(memory);
  int missing = 0;
  for (const Need &need : needs) {
    const int handle = need.handle;
    if (store) store->pin(handle);
    if (!(copies_.is_valid(handle, memory) && need.reads) || !requests_.of[handle].requests.empty()) {
      missing += fetch_one(need, taker);
      continue;
    }
    if (need.writes) copies_.write(handle, memory);
    if (store) store->take(handle);
  }
  return missing;
}

// Fetches one datum that is missing; returns whether that takes time.
bool Mover::fetch_one(const Need &need, Taker &taker) {
  const int handle = need.handle, memory = taker.memory;
  Store *store = copies_.store(memory);
  const bool others = !requests_.of[handle].requests.empty();
  const Whereabouts &where = copies_.of[handle];
  const u64 here = need.reads ? where.valid : where.places | where.valid;
  if ((here >> memory & 1) && !(need.writes && others)) {
    if (need.writes) copies_.write(handle, memory);
    if (store) store->take(handle);
    if (others) cancel_prefetches(handle, taker);
    return false;
  }
  if (!need.reads && !store && !others) {
    copies_.settle(handle, memory);
    copies_.write(handle, memory);
    return false;
  }
  return fetch_later(need, taker);
}

// Waits for a request of the taker's task; a writer waits for the others as well.
bool Mover::fetch_later(const Need &need, Taker &taker) {
  const int handle = need.handle, memory = taker.memory;
  std::vector<RequestRef> others;
  if (need.writes) others = in_the_way(handle, memory);
  RequestRef own;
  if (!copies_.is_valid(handle, memory))
    own = requests_.ask(need, memory, {FETCH, taker.task, taker.priority});
  std::erase_if(others, [&](const RequestRef &request) {
    return request.get() == own.get() || request->state == RequestState::ENDED;
  });
  if (!own && others.empty()) {
    take(need, memory);
    cancel_prefetches(handle, taker);
    return false;
  }
  if (free_.empty()) {
    all_.emplace_back();
    free_.push_back(&all_.back());
  }
  Missing *missing = free_.back();
  free_.pop_back();
  missing->mover = this;
  missing->need = need;
  missing->taker = &taker;
  missing->left = static_cast<int>(others.size()) + (own ? 1 : 0);
  if (own) own->await(*missing);
  for (const auto &request : others) request->await(*missing);
  return true;
}

void Mover::Missing::one_done() {
  --left;
  if (need.writes && !left)  // started meanwhile, to make room at the datum's memory
    for (const auto &open : mover->requests_.of[need.handle].requests)
      if (open.request->begun()) {
        ++left;
        open.request->await(*this);
      }
  if (left) return;
  Taker &waiting = *taker;
  mover->take(need, waiting.memory);
  mover->free_.push_back(this);
  waiting.arrive();
}

// The requests that end before a task in *memory* may write *handle*, except those that would bring
// it there but have not begun. Prefetched copies are promoted, or they might wait for ever.
std::vector<RequestRef> Mover::in_the_way(int handle, int memory) {
  std::vector<RequestRef> found;
  for (const auto &open : requests_.of[handle].requests)
    if (open.target != memory || open.request->begun()) found.push_back(open.request);
  for (const auto &request : found)
    if (request->kind == PREFETCH && !request->begun()) requests_.promote(request, FETCH);
  return found;
}

// Notes that a task has one of its data now.
void Mover::take(const Need &need, int memory) {
  if (Store *store = copies_.store(memory)) store->take(need.handle);
  if (!need.writes) return;
  copies_.write(need.handle, memory);
  requests_.cancel_idle(need.handle);  // requested while the task waited
}

void Mover::prefetch(std::span<const Need> needs, int memory, int task, int priority) {
  Store *store = copies_.store(memory);
  for (const Need &need : needs) {
    const int handle = need.handle;
    const Whereabouts &where = copies_.of[handle];
    if ((need.reads ? where.valid : where.places) >> memory & 1) {
      if (need.writes && need.reads) copies_.write(handle, memory);
      if (store) store->want(handle);
    } else if (need.reads || store) {
      requests_.ask({handle, need.reads, need.writes && need.reads}, memory,
                    {PREFETCH, task, priority});
    }
  }
}

void Mover::will_not_be_used(int handle) {
  copies_.will_not_be_used(handle);
  const int home = copies_.home[handle];
  if (!copies_.is_valid(handle, home))
    requests_.ask({handle, true, false}, home, {IDLE, NOBODY, 0});
}

void Mover::release(std::span<const Need> needs, int memory) {
  Store *store = copies_.store(memory);
  if (!store) return;
  for (const Need &need : needs) store->unpin(need.handle);
  eviction_.unpinned(memory);
}

// Cancels prefetches for the taker's task: it has the datum now.
void Mover::cancel_prefetches(int handle, const Taker &taker) {
  for (const auto &open : requests_.of[handle].requests)
    if (open.task == taker.task && open.target == taker.memory) open.request->cancel();
}

}  // namespace tasksim
