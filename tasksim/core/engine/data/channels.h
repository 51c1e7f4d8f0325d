// Channels: the order of the requests of a memory, and how many are handled at a time.
#pragma once

#include <map>
#include <vector>

#include "../../schedulers/line.h"
#include "requests.h"

namespace tasksim {

// Waiting requests of one class: by priority; of equals, those put back first, then by arrival.
class Queue {
 public:
  bool empty() const { return levels_.empty(); }

  void push_back(RequestRef request) { line_of(*request.get()).push_back(std::move(request)); }
  void push_front(RequestRef request) { line_of(*request.get()).push_front(std::move(request)); }

  // Removes and returns the first.
  RequestRef pop() {
    const auto level = levels_.begin();
    RequestRef request = level->second.pop_front();
    if (level->second.empty())
      spare_ = levels_.extract(level);
    else
      __builtin_prefetch(level->second.front().get());  // it may be far from the processor
    return request;
  }

 private:
  using Levels = std::map<i64, Line<RequestRef>>;  // by priority negated: the most urgent first

  Line<RequestRef> &line_of(const Request &request) {
    const i64 key = -i64{request.priority};
    if (spare_.empty()) return levels_[key];
    spare_.key() = key;
    auto inserted = levels_.insert(std::move(spare_));
    spare_ = std::move(inserted.node);
    return inserted.position->second;
  }

  Levels levels_;
  Levels::node_type spare_;  // an empty level, to reuse
};

// The requests between a memory and one peer in one direction, at the memory that handles them.
struct Channel {
  // Removes and returns the first request of class *kind*; none if there is none.
  RequestRef next(int kind) {
    auto &queue = queues[kind];
    while (!queue.empty()) {
      RequestRef request = queue.pop();
      // A request whose class has changed was queued again in its place.
      if (request->kind == kind && !request->begun()) return request;
    }
    return {};
  }

  Queue queues[KINDS];
  i64 waiting = 0;
  i64 pending = 0;  // copies in progress, of all classes
  std::vector<RequestRef> arrived;
};

// The requests that one memory handles, and their queues (engine/data/requests.py).
class Post {
 public:
  explicit Post(int memories) : inward(memories), outward(memories) {
    groups.emplace_back();
    for (auto &channel : inward) groups[0].push_back(&channel);
    for (auto &channel : outward) groups.push_back({&channel});
  }
  Post(const Post &) = delete;
  Post(Post &&) = default;  // vectors keep their addresses when moved

  void add(const RequestRef &request, Channel &channel) {
    request->channel = &channel;
    ++channel.waiting;
    ++waiting;
    channel.queues[request->kind].push_back(request);
  }

  // Moves *request* to the more urgent class *kind*.
  void promote(const RequestRef &request, int kind) {
    request->kind = static_cast<std::int8_t>(kind);
    if (request->channel && !request->begun()) request->channel->queues[kind].push_back(request);
  }

  // Moves the requests of class *kind* that the *limit* allows to begin to *taken*.
  static void take(Channel &channel, int kind, i64 limit, std::vector<RequestRef> &taken) {
    taken.clear();
    while (channel.pending + static_cast<i64>(taken.size()) < limit) {
      RequestRef request = channel.next(kind);
      if (!request) break;
      taken.push_back(std::move(request));
    }
  }

  static std::vector<RequestRef> take(Channel &channel, int kind, i64 limit) {
    std::vector<RequestRef> taken;
    take(channel, kind, limit, taken);
    return taken;
  }

  // Puts the requests from *first* on back in front of their class; one that was promoted meanwhile
  // is in its queue already.
  void put_back(Channel &channel, std::span<const RequestRef> requests, int kind) {
    for (std::size_t k = requests.size(); k--;)
      if (requests[k]->kind == kind) channel.queues[kind].push_front(requests[k]);
  }

  std::vector<Channel> inward, outward;        // per peer
  std::vector<std::vector<Channel *>> groups;  // all inward; outward, peer by peer
  i64 waiting = 0;                             // requests
  i64 arrived = 0;  // ended copies that the driver has not seen yet
  std::vector<RequestRef> noted, taken;  // requests that the driver is about to note, or to start
};

}  // namespace tasksim
