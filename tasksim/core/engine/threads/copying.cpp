#include "copying.h"

#include <algorithm>

namespace tasksim::threads {

namespace {

// Times that a thread tries a data lock, handling requests in between, before it blocks on it:
// StarPU's STARPU_SPIN_MAXTRY.
constexpr int LOCK_ATTEMPTS = 10;

bool is_among(const RequestRef &request, const std::vector<OpenRequest> &requests) {
  return std::any_of(requests.begin(), requests.end(),
                     [&](const auto &each) { return each.request.get() == request.get(); });
}

// Removes *request*; returns whether it was there.
bool remove(const RequestRef &request, std::vector<RequestRef> &requests) {
  const auto place = std::find_if(requests.begin(), requests.end(), [&](const auto &each) {
    return each.get() == request.get();
  });
  if (place == requests.end()) return false;
  requests.erase(place);
  return true;
}

}  // namespace

Copying::Copying(Node &node, Kernel &kernel, DataLocks &locks, Office &office)
    : kernel_(kernel),
      requests_(node.requests),
      handling_(node.handling),
      mover_(node.mover),
      locks_(locks),
      office_(office),
      look_(node.overheads.progress),
      of_(node.requests.posts.size()),
      clock_(node.clock),
      landing_(node.landing.get()) {
  for (std::size_t memory = 0; memory < of_.size(); ++memory) {
    Post &post = requests_.posts[memory];
    Lists &lists = of_[memory];
    for (Channel &each : post.inward) lists.inward.emplace_back(each);
    for (Channel &each : post.outward) lists.outward.emplace_back(each);
    lists.groups.emplace_back();
    for (List &each : lists.inward) lists.groups[0].push_back(&each);
    for (List &each : lists.outward) lists.groups.push_back({&each});
  }
  handling_.copied = [this](const RequestRef &request) { on_copied(request); };
}

// Handling of requests

Steps<bool> Copying::look_after_all(Worker *me) {
  bool worked = co_await look_after(0, me);
  if (me && me->memory) {
    const bool more = co_await look_after(me->memory, me);
    worked = worked || more;
  }
  co_return worked;
}

Steps<bool> Copying::look_after(int memory, Worker *me) {
  co_await Wait{look_};
  Post &post = requests_.posts[memory];
  bool worked = false;
  for (const Group &group : of_[memory].groups) {
    for (List *requests : group) {
      co_await requests->pending;
      auto flying = std::exchange(requests->flying, {});
      co_await requests->pending;
      if (flying.empty()) continue;  // mostly: no frame of its own for that
      const bool noted = co_await note_arrivals(*requests, std::move(flying), post, me);
      worked = worked || noted;
    }
    if (landing_ && memory == MAIN_MEMORY && &group == &of_[memory].groups.front() &&
        landing_->waiting()) {
      co_await make_room(me);
      worked = true;
    }
    const bool started = co_await start_all(group, post, me);
    worked = worked || started;
  }
  co_return worked;
}

// Makes room for data from other nodes, and leaves to others what takes too long.
Steps<> Copying::make_room(Worker *me) {
  const std::vector<Landing::Asked> asked = landing_->take();
  const i64 begun = clock_.now;
  std::size_t place = 0;
  for (; place < asked.size() && clock_.now < later(begun, Landing::MAX_PIN_TURN_TICKS); ++place) {
    co_await Calls{2};
    if (!landing_->take_kept(asked[place].size)) {
      co_await chunks_;
      if (const i64 ticks = landing_->allocate(asked[place].size)) co_await Wait{ticks};
      co_await chunks_;
    }
    co_await office_.tell_all(MAIN_MEMORY, me);
    --landing_->open;
    asked[place].who->happen(asked[place].value);
    co_await office_.stir(MAIN_MEMORY);
  }
  if (place == asked.size()) co_return;
  landing_->put_back({asked.data() + place, asked.size() - place});
  co_await Wait{look_};
  co_await office_.tell_all(MAIN_MEMORY, me);
}

Steps<bool> Copying::note_arrivals(List &requests, Requested flying, Post &post, Worker *me) {
  Channel &channel = requests.channel;
  std::stable_sort(flying.begin(), flying.end(), [](const auto &one, const auto &other) {
    return one->priority > other->priority;
  });
  Requested kept;
  for (const RequestRef &request : flying) {
    co_await locks_.take(request->handle);
    if (remove(request, channel.arrived)) {
      --post.arrived;
      co_await complete(request, me);
    } else {
      locks_.give(request->handle);
      kept.push_back(request);
    }
  }
  co_await requests.pending;
  channel.pending -= static_cast<i64>(flying.size() - kept.size());
  requests.flying.insert(requests.flying.end(), kept.begin(), kept.end());
  co_await requests.pending;
  co_return kept.size() < flying.size();
}

Steps<bool> Copying::start_all(const Group &group, Post &post, Worker *me) {
  bool worked = false, quiet = true;
  for (int kind = 0; kind < KINDS; ++kind) {
    if (kind == IDLE && !quiet) break;
    for (List *requests : group) {
      co_await requests->waiting;
      auto taken = Post::take(requests->channel, kind, handling_.limit(kind));
      co_await requests->waiting;
      Started started;
      if (!taken.empty())  // seldom: no frame of its own for nothing
        started = co_await start_some(*requests, std::move(taken), kind, post, me);
      worked = worked || started.any;
      if (kind == PREFETCH && requests->channel.pending) quiet = false;
      if (!started.room) co_return worked;
    }
  }
  co_return worked;
}

// Starts the taken requests of class *kind*.
Steps<Copying::Started> Copying::start_some(List &requests, Requested taken, int kind, Post &post,
                                            Worker *me) {
  Channel &channel = requests.channel;
  const i64 limit = handling_.limit(kind);
  Started started;
  for (std::size_t place = 0; place < taken.size(); ++place) {
    const bool room = channel.pending < limit;
    bool begun = false;
    if (room) begun = co_await start(taken[place], requests, me);
    if (begun) {
      started.any = true;
      --channel.waiting;
      --post.waiting;
      continue;
    }
    post.put_back(channel, {taken.data() + place, taken.size() - place}, kind);
    co_await requests.waiting;
    co_await requests.waiting;
    started.room = !room;
    co_return started;
  }
  co_return started;
}

// Begins *request*; false if there is no room for it now.
Steps<bool> Copying::start(RequestRef request, List &requests, Worker *me) {
  const int handle = request->handle;
  co_await locks_.take(handle);
  const bool there = handling_.is_there(request);
  if (there || handling_.source_left(request)) {
    if (there || request->cancelled())
      co_await complete(request, me);
    else
      locks_.give(handle);
    co_return true;
  }
  if (handling_.follow(request)) {
    locks_.give(handle);
    co_return true;
  }
  const bool placed = co_await make_place(request);
  if (!placed) {
    locks_.give(handle);
    co_return false;
  }
  if (request->source < 0 || request->cancelled()) {
    co_await complete(request, me);
    co_return true;
  }
  request->state = RequestState::UNDER_WAY;
  co_await Wait{handling_.copy_ticks()};
  handling_.hand_over(request);
  co_await Calls{1};
  locks_.give(handle);
  co_await requests.pending;
  ++requests.channel.pending;
  requests.flying.push_back(request);
  co_await requests.pending;
  co_return true;
}

// Makes a place for the datum of *request*, which is unlocked meanwhile.
Steps<bool> Copying::make_place(RequestRef request) {
  const bool slow = handling_.needs_place(request);
  if (slow) {
    locks_.give(request->handle);
    co_await Calls{2};
  }
  const bool found = co_await handling_.make_place(request);
  if (slow) co_await locks_.take(request->handle);
  co_return found;
}

void Copying::on_copied(const RequestRef &request) {
  kernel_.begin(office_.tell_all(requests_.handler(request), nullptr));
}

// Finishes *request*, whose datum is locked, and is free afterwards.
Steps<> Copying::complete(RequestRef request, Worker *me) {
  handling_.settle(request);
  if (request->next_hop()) co_await post(request->next_hop(), me);
  co_await office_.tell_all(request->target, me);
  locks_.give(request->handle);
  for (std::size_t k = request->followers(); k--;) {
    co_await locks_.take(request->handle);
    co_await complete(request->follower(k), me);
  }
  for (std::size_t k = request->waiters(); k--;) {
    request->waiter(k).one_done();
    co_await office_.stir(request->target);
  }
}

// Notifies the memory's handler of *request*, which was just queued.
Steps<> Copying::post(RequestRef request, Worker *me) {
  const int handler = requests_.handler(request), source = request->source;
  Lists &lists = of_[handler];
  List &list = handler == request->target ? lists.inward[source >= 0 ? source : request->target]
                                          : lists.outward[request->target];
  co_await list.waiting;
  co_await list.waiting;
  co_await office_.tell_all(handler, me);
}

// Requests of tasks and hints

Steps<> Copying::fetch(std::span<const Need> needs, Intake &intake, Worker *me, i64 cost) {
  for (const Need &need : needs) {
    co_await fetch_one(need, intake, me);
    co_await Wait{cost};
  }
  intake.state = intake.missing ? Intake::COMING : Intake::THERE;
}

Steps<> Copying::fetch_one(Need need, Intake &intake, Worker *me) {
  if (!intake.moves()) {  // there is only one memory
    --intake.missing;
    co_await office_.stir(intake.memory);
    co_return;
  }
  const int handle = need.handle;
  co_await locks_.take(handle);
  const OpenBefore before = requests_.of[handle].requests;
  if (mover_.fetch({&need, 1}, intake)) {
    co_await post_new(handle, before, me);
    locks_.give(handle);
  } else {
    locks_.give(handle);
    --intake.missing;
    co_await office_.stir(intake.memory);
  }
}

Steps<> Copying::hand_over(Node &node, int task, int released_by, Worker *me) {
  const int handle = node.graph.needs[task].front().handle;
  co_await locks_.take(handle);
  const OpenBefore before = requests_.of[handle].requests;
  const i64 open = landing_ ? landing_->open : 0;
  node.hand_over(task, released_by);
  co_await post_new(handle, before, me);
  if (landing_ && landing_->open > open) co_await office_.tell_all(MAIN_MEMORY, me);
  locks_.give(handle);
}

Steps<> Copying::will_not_be_used(int handle, Worker *me) {
  co_await locks_.take(handle);
  const OpenBefore before = requests_.of[handle].requests;
  mover_.will_not_be_used(handle);
  co_await post_new(handle, before, me);
  locks_.give(handle);
}

// Notifies the handler of the first request for *handle* that was not there *before*.
Steps<> Copying::post_new(int handle, OpenBefore before, Worker *me) {
  for (const OpenRequest &open : requests_.of[handle].requests)
    if (!is_among(open.request, before)) {
      co_await post(open.request, me);
      co_return;
    }
}

Steps<> Copying::touch_patiently(std::span<const Need> needs, Worker *me) {
  for (const Need &need : needs) {
    bool taken = false;
    for (int attempt = 0; attempt < LOCK_ATTEMPTS && !taken; ++attempt) {
      taken = locks_.try_take(need.handle);
      if (!taken) co_await look_after_all(me);
    }
    if (!taken) co_await locks_.take(need.handle);
    locks_.give(need.handle);
  }
}

}  // namespace tasksim::threads
