// Handling of requests: what drivers do to start copies and to take note of those that ended.
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

// From a request that waits to one that is done (engine/data/handling.py), and the order in which
// a driver goes through the channels of its memory (engine/data/requests.py, serve).
class Handling {
 public:
  Handling(Clock &clock, const Platform &platform, Copies &copies, OpenRequests &requests,
           Eviction &eviction, Locks &locks, CopyLog &log);

  // Lets the driver of *memory* note what has arrived, and start what the limits allow: first all
  // that comes in, over all peers, then what goes out, peer by peer. Whether there was anything.
  Steps<bool> serve(int memory);

  // The parts of that, of which threads make their own way (threads/copying.h).

  // Whether nothing has to be done for *request*.
  bool is_there(const RequestRef &request) const {
    return request->cancelled() || copies_.is_valid(request->handle, request->target);
  }

  // Looks for another source of a datum that has left the one it was to come from. Of an idle copy
  // only its end is waited for: it is cancelled. Whether the datum had left.
  bool source_left(const RequestRef &request);

  // Lets *request* be done when another is that brings the same datum to the same place; false if
  // there is none: others follow this one.
  bool follow(const RequestRef &request);

  // Whether there is no place yet for *request* where memory is limited.
  bool needs_place(const RequestRef &request) const {
    const Whereabouts &where = copies_.of[request->handle];
    return copies_.store(request->target) && !(where.places >> request->target & 1);
  }

  // Makes a place for the datum of *request*; false if there is none now.
  Steps<bool> make_place(RequestRef request);

  // Has the copy of *request* made.
  void hand_over(const RequestRef &request) {
    engines_.ask(request, copies_.of[request->handle].size);
  }

  // Notes what *request*, which is done, has changed, and sends the one that comes next.
  void settle(const RequestRef &request);

  i64 copy_ticks() const { return platform_.given.copy; }
  i64 limit(int kind) const { return limits_[kind]; }  // of copies under way in a channel

  std::function<void(const RequestRef &)> copied;  // whom to tell of each; nobody if empty

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
