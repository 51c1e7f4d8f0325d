#include "handling.h"

namespace tasksim {

Handling::Handling(Clock &clock, const Platform &platform, Copies &copies, OpenRequests &requests,
                   Eviction &eviction, Locks &locks, CopyLog &log)
    : clock_(clock),
      platform_(platform),
      copies_(copies),
      requests_(requests),
      eviction_(eviction),
      locks_(locks),
      log_(log),
      engines_(clock, platform,
               [](void *self, Copy &copy) { static_cast<Handling *>(self)->on_copied(copy); },
               this),
      limits_{platform.given.fetches, platform.given.prefetches, platform.given.idle} {}

Steps<bool> Handling::serve(int memory) {
  Post &post = requests_.posts[memory];
  bool worked = false;
  for (const auto &channels : post.groups) {
    if (post.arrived)
      for (Channel *channel : channels)
        if (!channel->arrived.empty()) {
          worked = true;
          co_await note_arrivals(post, *channel);
        }
    if (post.waiting && any_can_start(channels)) {
      const bool started = co_await start_all(post, channels);
      worked = worked || started;
    }
  }
  co_return worked;
}

Steps<> Handling::note_arrivals(Post &post, Channel &channel) {
  std::vector<RequestRef> &arrived = post.noted;  // only its driver uses a post's vectors
  arrived.clear();
  arrived.swap(channel.arrived);
  if (arrived.size() > 1)
    std::stable_sort(arrived.begin(), arrived.end(), [](const auto &one, const auto &other) {
      return one->priority > other->priority;
    });
  post.arrived -= static_cast<i64>(arrived.size());
  for (const auto &request : arrived) {
    while (const i64 delay = locks_.wait_ticks(request->handle)) co_await Wait{delay};
    complete(request);
  }
  channel.pending -= static_cast<i64>(arrived.size());
  arrived.clear();
}

// Whether start_all would find a request that it can start.
bool Handling::any_can_start(const std::vector<Channel *> &channels) const {
  for (int kind = 0; kind < KINDS; ++kind) {
    if (kind == IDLE && any_pending(channels)) break;
    for (const Channel *channel : channels)
      if (channel->waiting && can_start(*channel, kind)) return true;
  }
  return false;
}

// Starts waiting requests, class by class; idle copies if no other copy is in progress.
Steps<bool> Handling::start_all(Post &post, const std::vector<Channel *> &channels) {
  bool worked = false;
  u64 busy = 0;
  for (std::size_t k = 0; k < channels.size(); ++k)
    if (channels[k]->waiting) busy |= u64{1} << k;
  for (int kind = 0; kind < KINDS; ++kind) {
    if (kind == IDLE && any_pending(channels)) break;
    for (u64 left = busy; left; left &= left - 1) {
      Channel &channel = *channels[std::countr_zero(left)];
      if (!can_start(channel, kind)) continue;
      const Started started = co_await start_some(post, channel, kind, limits_[kind]);
      worked = worked || started.any;
      if (!started.room) co_return worked;
    }
  }
  co_return worked;
}

// Starts requests of one class in one channel.
Steps<Handling::Started> Handling::start_some(Post &post, Channel &channel, int kind, i64 limit) {
  std::vector<RequestRef> &taken = post.taken;
  Post::take(channel, kind, limit, taken);
  for (const auto &request : taken) {
    copies_.send_for(request->handle, request->target);
    requests_.send_for(request->handle);
  }
  Started started;
  for (std::size_t place = 0; place < taken.size(); ++place) {
    const std::span<const RequestRef> left{taken.data() + place, taken.size() - place};
    if (channel.pending >= limit) {
      post.put_back(channel, left, kind);
      break;
    }
    const bool begun = co_await start(taken[place]);
    if (begun) {
      started.any = true;
      --channel.waiting;
      --post.waiting;
    } else {
      post.put_back(channel, left, kind);
      started.room = false;
      break;
    }
  }
  taken.clear();
  co_return started;
}

// Begins *request*; false if there is no room for it now.
Steps<bool> Handling::start(RequestRef request) {
  const int handle = request->handle;
  if (is_there(request)) {
    complete(request);
    co_return true;
  }
  if (source_left(request)) {
    if (request->cancelled()) complete(request);
    co_return true;
  }
  if (follow(request)) co_return true;
  if (needs_place(request)) {
    const bool placed = co_await make_place(request);
    if (!placed) co_return false;
  } else {
    settle_unlimited(request);  // no frame of its own for a step without waits
  }
  if (request->source < 0 || request->cancelled()) {
    complete(request);
    co_return true;
  }
  request->state = RequestState::UNDER_WAY;
  if (const i64 copy_ticks = platform_.given.copy) {
    while (const i64 delay = locks_.wait_ticks(handle)) co_await Wait{delay};
    locks_.lock(handle, later(clock_.now, copy_ticks));
    co_await Wait{copy_ticks};
    locks_.unlock(handle);
  }
  ++request->channel->pending;
  hand_over(request);
  co_return true;
}

bool Handling::source_left(const RequestRef &request) {
  const int source = request->source;
  if (source < 0 || copies_.is_valid(request->handle, source)) return false;
  if (request->kind != IDLE && (request->task >= 0 || request->waiters()))
    requests_.ask_again(request);
  else
    request->cancel();
  return true;
}

bool Handling::follow(const RequestRef &request) {
  Request *leader = requests_.loading(request->handle, request->target);
  if (!leader) {
    keep(request);
    return false;
  }
  if (request->kind < leader->kind) requests_.promote(leader, request->kind);
  leader->lead(request);
  request->state = RequestState::UNDER_WAY;
  return true;
}

Steps<bool> Handling::make_place(RequestRef request) {
  if (!needs_place(request)) {
    settle_unlimited(request);
    co_return true;
  }
  request->state = RequestState::PLACING;
  const bool placed = co_await eviction_.place(request, *copies_.store(request->target));
  if (placed) co_return true;
  give_up_for_now(request);
  co_return false;
}

// Gives the datum of *request* a place in an unlimited memory.
void Handling::settle_unlimited(const RequestRef &request) {
  if (!copies_.store(request->target)) copies_.settle(request->handle, request->target);
}

// Keeps the datum at its source, and its place at its target.
void Handling::keep(const RequestRef &request) {
  request->keeps = true;
  requests_.of[request->handle].loading |= bit(request->target);
  if (Store *root = request->source >= 0 ? copies_.store(request->source) : nullptr)
    root->pin(request->handle);
  if (Store *place = copies_.store(request->target)) place->pin(request->handle);
}

// Lets *request*, for which there was no room, wait again.
void Handling::give_up_for_now(const RequestRef &request) {
  request->state = RequestState::PENDING;
  request->keeps = false;
  requests_.of[request->handle].loading &= ~bit(request->target);
  if (Store *place = copies_.store(request->target)) place->unpin(request->handle);
  if (Store *root = request->source >= 0 ? copies_.store(request->source) : nullptr)
    root->unpin(request->handle);
}

void Handling::on_copied(Copy &copy) {
  log_.copied(*copy.request.get(), copy.started, clock_.now);
  requests_.arrived(copy.request);
  if (copied) copied(copy.request);
}

// *request* is done: updates the datum, notifies waiters, and starts the next request.
void Handling::complete(RequestRef request) {
  settle(request);
  for (std::size_t k = 0; k < request->waiters(); ++k) request->waiter(k).one_done();
  for (std::size_t k = 0; k < request->followers(); ++k) complete(request->follower(k));
}

void Handling::settle(const RequestRef &request) {
  const bool cancelled = request->cancelled();
  request->state = RequestState::ENDED;
  if (request->keeps) requests_.of[request->handle].loading &= ~bit(request->target);
  if (!cancelled) note_copy(*request.get());
  requests_.close(request);
  note_use(*request.get(), request->kind == PREFETCH && !cancelled);
  if (platform_.devices[request->target]) requests_.keepers[request->target]->notify();
  if (request->next_hop()) requests_.send(request->next_hop());
}

// The valid copies after *request*.
void Handling::note_copy(const Request &request) {
  if (request.source < 0) {  // a place: its user will write, and has not yet
    if (request.kind == FETCH) requests_.cancel_idle(request.handle);
  } else if (request.write) {
    copies_.write(request.handle, request.target);
  } else if (copies_.is_valid(request.handle, request.source)) {
    copies_.read(request.handle, request.target);
  }
}

// Notes the end of *request*'s use of both memories; it keeps nothing there any more.
void Handling::note_use(Request &request, bool ahead) {
  const int handle = request.handle;
  if (Store *store = copies_.store(request.target)) {
    ahead ? store->want(handle) : store->touch(handle);
    if (request.keeps) {
      store->unpin(handle);
      eviction_.unpinned(request.target);
    }
  }
  if (request.source < 0) return;
  Store *source = copies_.store(request.source);
  if (source && request.keeps) {
    source->unpin(handle);
    eviction_.unpinned(request.source);
  }
  if (source && request.reason == WRITE_BACK)
    eviction_.written_back(*source, handle, request.source);
}

}  // namespace tasksim
