// Handling of requests: drivers start copies and note those that ended.
#pragma once

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>
#include <vector>

#include "engines.h"
#include "eviction.h"
#include "locks.h"

namespace tasksim {

// Steps of a request from waiting to done (engine/data/handling.py), and the order in which a
// driver visits the channels of its memory (engine/data/requests.py, serve).
class Handling {
 public:
  Handling(Clock &clock, const Platform &platform, Copies &copies, OpenRequests &requests,
           Eviction &eviction, Locks &locks, CopyLog &log);

  // Lets the driver of *memory* note arrivals, and start requests within the limits: first all
  // inward ones, over all peers, then outward ones, peer by peer. Returns whether there were any.
  Steps<bool> serve(int memory);

  // Parts of that, which threads use in their own way (threads/copying.h).

  // Whether *request* needs no work.
  bool is_there(const RequestRef &request) const {
    return request->cancelled() || copies_.is_valid(request->handle, request->target);
  }

  // Finds another source for a datum that has left its planned one. An idle copy is cancelled
  // instead; only its end is awaited. Returns whether the datum had left.
  bool source_left(const RequestRef &request);

  // Lets *request* be done with another one that brings the same datum to the same place; false if
  // there is none: then others follow this one.
  bool follow(const RequestRef &request);

  // Whether *request* needs a place in a limited memory and has none yet.
  bool needs_place(const RequestRef &request) const {
    const Whereabouts &where = copies_.of[request->handle];
    return copies_.store(request->target) && !(where.places >> request->target & 1);
  }

  // Makes a place for the datum of *request*; false if there is none now.
  Steps<bool> make_place(RequestRef request);

  // Starts the copy of *request*.
  void hand_over(const RequestRef &request) {
    engines_.ask(request, copies_.of[request->handle].size);
  }

  // Updates the state after *request*, which is done, and sends the next one.
  void settle(const RequestRef &request);

  i64 copy_ticks() const { return platform_.given.copy; }
  i64 limit(int kind) const { return limits_[kind]; }  // of copies in progress in a channel

  std::function<void(const RequestRef &)> copied;  // notified of each copy, if not empty

 private:
  struct Started {
    bool any = false, room = true;
  };

  Steps<> note_arrivals(Post &post, Channel &channel);
  bool any_can_start(const std::vector<Channel *> &channels) const;
  bool can_start(const Channel &channel, int kind) const {
    return !channel.queues[kind].empty() && channel.pending < limits_[kind];
  }
  static bool any_pending(const std::vector<Channel *> &channels) {
    return std::any_of(channels.begin(), channels.end(),
                       [](const Channel *each) { return each->pending != 0; });
  }
  Steps<bool> start_all(Post &post, const std::vector<Channel *> &channels);
  Steps<Started> start_some(Post &post, Channel &channel, int kind, i64 limit);
  Steps<bool> start(RequestRef request);
  void settle_unlimited(const RequestRef &request);
  void keep(const RequestRef &request);
  void give_up_for_now(const RequestRef &request);
  void on_copied(Copy &copy);
  void complete(RequestRef request);
  void note_copy(const Request &request);
  void note_use(Request &request, bool ahead);

  Clock &clock_;
  const Platform &platform_;
  Copies &copies_;
  OpenRequests &requests_;
  Eviction &eviction_;
  Locks &locks_;
  CopyLog &log_;
  CopyEngines engines_;
  i64 limits_[KINDS];
};

}  // namespace tasksim
