// Open requests: unfinished requests by datum, and their queues.
#pragma once

#include <vector>

#include "../routine.h"
#include "channels.h"
#include "copies.h"
#include "estimates.h"

namespace tasksim {

// A request, with facts that rule it out in a search without a look at it.
struct OpenRequest {
  RequestRef request;
  std::int32_t task, target;
};

// The open requests for a datum, in the order of their creation.
struct Asked {
  std::vector<OpenRequest> requests;
  u64 loading = 0;  // memories to which one of them is bringing it
};

// The unfinished requests of a node (engine/data/open_requests.py). *keepers*: per memory, the
// routine that handles its requests; it is woken for each new one.
class OpenRequests {
 public:
  OpenRequests(const Clock &clock, Copies &copies, const Ways &ways,
               const CopyEstimates &estimates, Requests &requests,
               std::vector<Routine *> keepers);

  // The request for *need* in *memory*: an existing one, or a new one.
  RequestRef ask(const Need &need, int memory, const Purpose &purpose);

  // Queues *request* again, whose datum has left its source.
  void ask_again(const RequestRef &request);

  void send(const RequestRef &request);
  void promote(const RequestRef &request, int kind);

  // The memory whose driver handles *request*.
  int handler(const RequestRef &request) const {
    return ways_.handler(request->source, request->target);
  }

  // Notes that the copy of *request* has ended; the driver that started it will see it.
  void arrived(const RequestRef &request);

  // Cancels copies of *handle* that nobody waits for: it is about to be written.
  void cancel_idle(int handle);

  // Removes *request*: it is fulfilled, or was given up.
  void close(const RequestRef &request);

  void send_for(int handle) const { __builtin_prefetch(&of[handle], 1); }

  bool none() const { return !open_; }

  std::vector<Routine *> keepers;
  std::vector<Post> posts;
  // The request that is bringing *handle* to *memory*, or finding a place for it; null: none.
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
