// Request: a copy of a datum that somebody wants in a memory, and the states it goes through.
#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "store.h"
#include "ways.h"

namespace tasksim {

inline constexpr int NOBODY = -1;  // the task of a request that none asked for

// Classes of requests, and a reason: what is written back to make room.
enum Kind : int { FETCH, PREFETCH, IDLE, WRITE_BACK };
inline constexpr int KINDS = 3;

enum class RequestState : std::int8_t { WAITING, CANCELLED, PLACING, UNDER_WAY, DONE };

// Why something is asked for: the class of the request, for which task, how urgent.
struct Purpose {
  int kind, task, priority;
};

struct Channel;
class Request;
class Requests;

// Who waits for the requests of one datum of a task (engine/data/mover.py, _fetch_later).
class Waiter {
 public:
  virtual ~Waiter() = default;
  virtual void one_done() = 0;
};

// A reference to a request: it is used again when there is none left.
class RequestRef {
 public:
  RequestRef() = default;
  RequestRef(Request *request);
  RequestRef(const RequestRef &other) : RequestRef(other.request_) {}
  RequestRef(RequestRef &&other) noexcept : request_(std::exchange(other.request_, nullptr)) {}
  RequestRef &operator=(RequestRef other) noexcept {
    std::swap(request_, other.request_);
    return *this;
  }
  ~RequestRef();

  Request *operator->() const { return request_; }
  Request *get() const { return request_; }
  explicit operator bool() const { return request_; }

 private:
  Request *request_ = nullptr;
};

// A request for a copy over one hop, or, from nowhere, for a place (engine/data/requests.py).
class Request {
 public:
  bool begun() const { return state >= RequestState::UNDER_WAY; }
  bool cancelled() const { return state == RequestState::CANCELLED; }

  // Says that it is not needed any more, unless its copy has begun.
  void cancel() {
    if (!begun()) state = RequestState::CANCELLED;
  }

  int handle, source, target;
  int kind, task, priority;
  bool write;  // the datum will be written there
  int reason;
  RequestState state;
  std::vector<Waiter *> waiters;      // whom to tell when it is done
  std::vector<RequestRef> followers;  // for the same copy, done when it is
  RequestRef next_hop;                // the request that goes on from its target
  Store *place, *root;                // whose place, and whose copy, are kept meanwhile
  i64 asked, started;
  Channel *channel;

 private:
  friend class Requests;
  friend class RequestRef;
  Requests *owner_;
  i64 references_;
};

// All requests of a replay, those that are over for use again.
class Requests {
 public:
  ~Requests() {
    ending_ = true;
    for (Request &request : all_) {
      request.followers.clear();
      request.next_hop = {};
    }
  }

  RequestRef make(int handle, Hop hop, const Purpose &purpose, bool write) {
    if (free_.empty()) {
      all_.emplace_back();
      free_.push_back(&all_.back());
    }
    Request *made = free_.back();
    free_.pop_back();
    made->handle = handle;
    made->source = hop.source;
    made->target = hop.target;
    made->kind = made->reason = purpose.kind;
    made->task = purpose.task;
    made->priority = purpose.priority;
    made->write = write;
    made->state = RequestState::WAITING;
    made->place = made->root = nullptr;
    made->asked = made->started = 0;
    made->channel = nullptr;
    made->owner_ = this;
    made->references_ = 0;
    return made;
  }

 private:
  friend class RequestRef;

  void reuse(Request *request) {
    if (ending_) return;
    request->waiters.clear();
    request->followers.clear();
    request->next_hop = {};
    free_.push_back(request);
  }

  std::deque<Request> all_;
  std::vector<Request *> free_;
  bool ending_ = false;
};

inline RequestRef::RequestRef(Request *request) : request_(request) {
  if (request_) ++request_->references_;
}

inline RequestRef::~RequestRef() {
  if (request_ && !--request_->references_) request_->owner_->reuse(request_);
}

}  // namespace tasksim
