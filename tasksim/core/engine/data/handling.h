// Handling of requests: what drivers do to start copies and to take note of those that ended.
#pragma once

#include <utility>
#include <vector>

#include "engines.h"
#include "eviction.h"
#include "locks.h"

namespace tasksim {

// From a request that waits to one that is done (engine/data/handling.py), and the order in which
// a driver goes through the channels of its memory (engine/data/channels.py, serve).
class Handling {
 public:
  Handling(Clock &clock, const Platform &platform, Copies &copies, OpenRequests &requests,
           Eviction &eviction, Locks &locks, CopyLog &log);

  // Lets the driver of *memory* note what has arrived, and start what the limits allow: first all
  // that comes in, over all peers, then what goes out, peer by peer. Whether there was anything.
  Steps<bool> serve(int memory);

 private:
  struct Started {
    bool any = false, room = true;
  };

  Steps<> note_arrivals(Post &post, Channel &channel);
  Steps<bool> start_all(Post &post, const std::vector<Channel *> &channels,
                        std::vector<Channel *> busy);
  Steps<Started> start_some(Post &post, Channel &channel, int kind, i64 limit);
  Steps<bool> start(RequestRef request);
  void source_left(const RequestRef &request);
  void follow(const RequestRef &request, Request *leader);
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
  std::vector<Request *> loading_;  // per datum and target; an open request, so it is there
  i64 limits_[KINDS];
};

}  // namespace tasksim
