// Channels: in which order the requests of a memory are handled, and how many at a time.
#pragma once

#include <algorithm>
#include <vector>

#include "requests.h"

namespace tasksim {

// The requests between a memory and one peer in one direction, at the one that handles them.
struct Channel {
  struct Queued {
    i64 urgency, number;  // priority negated; of equals, the lowest number first
    RequestRef request;
    bool operator<(const Queued &other) const {  // the greatest is on top of a heap
      return urgency != other.urgency ? urgency > other.urgency : number > other.number;
    }
  };

  void queue(int kind, i64 number, RequestRef request) {
    const i64 urgency = -i64{request->priority};
    queues[kind].push_back({urgency, number, std::move(request)});
    std::push_heap(queues[kind].begin(), queues[kind].end());
  }

  // The first request of class *kind*, removed; none if there is none.
  RequestRef next(int kind) {
    auto &queued = queues[kind];
    while (!queued.empty()) {
      std::pop_heap(queued.begin(), queued.end());
      RequestRef request = std::move(queued.back().request);
      queued.pop_back();
      // One whose class has changed was queued again where it belongs.
      if (request->kind == kind && !request->begun()) return request;
    }
    return {};
  }

  std::vector<Queued> queues[KINDS];
  i64 waiting = 0;
  i64 pending = 0;  // copies under way, whatever their class
  std::vector<RequestRef> arrived;
};

// The requests that one memory handles, and their coming and going (engine/data/channels.py).
class Post {
 public:
  explicit Post(int memories) : inward(memories), outward(memories) {
    groups.emplace_back();
    for (auto &channel : inward) groups[0].push_back(&channel);
    for (auto &channel : outward) groups.push_back({&channel});
  }
  Post(const Post &) = delete;
  Post(Post &&) = default;  // vectors keep their places when moved

  void add(const RequestRef &request, Channel &channel) {
    request->channel = &channel;
    ++channel.waiting;
    ++waiting;
    channel.queue(request->kind, ++last_, request);
  }

  // Moves *request* to the more urgent class *kind*.
  void promote(const RequestRef &request, int kind) {
    request->kind = kind;
    if (request->channel && !request->begun())
      request->channel->queue(kind, ++last_, request);
  }

  // The requests of class *kind*, removed, that the *limit* allows to begin.
  static std::vector<RequestRef> take(Channel &channel, int kind, i64 limit) {
    std::vector<RequestRef> taken;
    while (channel.pending + static_cast<i64>(taken.size()) < limit) {
      RequestRef request = channel.next(kind);
      if (!request) break;
      taken.push_back(std::move(request));
    }
    return taken;
  }

  // Puts the requests from *first* on back in front of their class; one that was promoted
  // meanwhile is queued where it belongs already.
  void put_back(Channel &channel, std::span<const RequestRef> requests, int kind) {
    for (std::size_t k = requests.size(); k--;)
      if (requests[k]->kind == kind) channel.queue(kind, --first_, requests[k]);
  }

  std::vector<Channel> inward, outward;        // per peer
  std::vector<std::vector<Channel *>> groups;  // all that comes in; what goes out, peer by peer
  i64 waiting = 0;                             // requests
  i64 arrived = 0;  // copies that have ended and that the driver has not seen yet

 private:
  i64 last_ = 0, first_ = 0;
};

}  // namespace tasksim
