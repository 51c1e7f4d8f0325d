// Open requests: all that was asked for and is not done, by datum, and where each is queued.
#pragma once

#include <vector>

#include "../routine.h"
#include "channels.h"
#include "copies.h"
#include "estimates.h"

namespace tasksim {

// A request, and what tells without a look at it that it is not the one that is looked for.
struct OpenRequest {
  RequestRef request;
  std::int32_t task, target;
};

// The open requests for a datum, in the order in which they were asked for.
struct Asked {
  std::vector<OpenRequest> requests;
  u64 loading = 0;  // the memories to which one of them brings it now
};

// The requests of a node that are not done (engine/data/open_requests.py). *keepers*: per memory,
// the routine that looks after its requests; it is woken for each that comes.
class OpenRequests {
 public:
  OpenRequests(const Clock &clock, Copies &copies, const Ways &ways,
               const CopyEstimates &estimates, Requests &requests,
               std::vector<Routine *> keepers);

  // The request for *need* in *memory*: one there is already, or a new one.
  RequestRef ask(const Need &need, int memory, const Purpose &purpose);

  // Queues *request* anew, whose datum has left the memory that it was to come from.
  void ask_again(const RequestRef &request);

  void send(const RequestRef &request);
  void promote(const RequestRef &request, int kind);

  // The memory whose driver handles *request*.
  int handler(const RequestRef &request) const {
    return ways_.handler(request->source, request->target);
  }

  // The copy of *request* has ended; the driver that began it will see it.
  void arrived(const RequestRef &request);

  // Cancels copies of *handle* that nobody waits for: it is about to be written.
  void cancel_idle(int handle);

  // Takes *request* away: what it asked for is there, or was given up.
  void close(const RequestRef &request);

  void send_for(int handle) const { __builtin_prefetch(&of[handle], 1); }

  bool none() const { return !open_; }

  std::vector<Routine *> keepers;
  std::vector<Post> posts;
  // The request that brings *handle* to *memory* now, or finds a place for it there; null: none does.
  Request *loading(int handle, int memory) const;

  std::vector<Asked> of;  // per datum

 private:
  const std::vector<Hop> &hops_to(int memory, int handle) const;
  RequestRef before(RequestRef request, std::span<const Hop> hops);
  void open(const RequestRef &request);
  RequestRef find(int handle, const Hop &hop, int task) const;

  const Clock &clock_;
  Copies &copies_;
  const Ways &ways_;
  const CopyEstimates &estimates_;
  Requests &requests_;
  i64 open_ = 0;
};

}  // namespace tasksim
