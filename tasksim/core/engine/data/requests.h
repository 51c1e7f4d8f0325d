// Request: a copy of a datum that somebody wants in a memory, and the states it goes through.
#pragma once

#include <deque>
#include <memory>
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

// A request for a copy over one hop, or, from nowhere, for a place (engine/data/requests.py). What
// few have is apart: so it is a line of the cache.
class alignas(64) Request {
 public:
  bool begun() const { return state >= RequestState::UNDER_WAY; }
  bool cancelled() const { return state == RequestState::CANCELLED; }

  // Says that it is not needed any more, unless its copy has begun.
  void cancel() {
    if (!begun()) state = RequestState::CANCELLED;
  }

  // The request that goes on from its target.
  const RequestRef &next_hop() const {
    static const RequestRef none;
    return rest_ ? rest_->next_hop : none;
  }
  void go_on_with(RequestRef next) { rest().next_hop = std::move(next); }

  // Whom to tell when it is done.
  std::size_t waiters() const { return waiter_ ? 1 + (rest_ ? rest_->waiters.size() : 0) : 0; }
  Waiter &waiter(std::size_t number) const {
    return number ? *rest_->waiters[number - 1] : *waiter_;
  }
  void await(Waiter &waiter) {
    if (waiter_)
      rest().waiters.push_back(&waiter);
    else
      waiter_ = &waiter;
  }

  // Those for the same copy, done when it is.
  std::size_t followers() const { return rest_ ? rest_->followers.size() : 0; }
  RequestRef follower(std::size_t number) const { return rest_->followers[number]; }
  void lead(const RequestRef &follower) { rest().followers.push_back(follower); }

  i64 asked;
  Channel *channel;
  std::int32_t handle, task, priority;
  std::int8_t source, target;  // memories
  std::int8_t kind, reason;
  RequestState state;
  bool write;  // the datum will be written there
  bool keeps;  // its copy where it comes from, and its place where it goes, are kept meanwhile

 private:
  friend class Requests;
  friend class RequestRef;

  struct Rest {
    std::vector<Waiter *> waiters;
    std::vector<RequestRef> followers;
    RequestRef next_hop;
  };

  Rest &rest() {
    if (!rest_) rest_ = std::make_unique<Rest>();
    return *rest_;
  }

  std::int32_t references_;
  Waiter *waiter_;  // the first
  std::unique_ptr<Rest> rest_;
  Requests *owner_;
};
static_assert(sizeof(Request) == 64);

// All requests of a replay, those that are over for use again.
class Requests {
 public:
  ~Requests() {
    ending_ = true;
    for (Request &request : all_) request.rest_.reset();
  }

  RequestRef make(int handle, Hop hop, const Purpose &purpose, bool write) {
    if (free_.empty()) {
      all_.emplace_back();
      free_.push_back(&all_.back());
    }
    Request *made = free_.back();
    free_.pop_back();
    made->handle = handle;
    made->source = static_cast<std::int8_t>(hop.source);
    made->target = static_cast<std::int8_t>(hop.target);
    made->kind = made->reason = static_cast<std::int8_t>(purpose.kind);
    made->task = purpose.task;
    made->priority = purpose.priority;
    made->write = write;
    made->state = RequestState::WAITING;
    made->keeps = false;
    made->asked = 0;
    made->waiter_ = nullptr;
    made->channel = nullptr;
    made->owner_ = this;
    made->references_ = 0;
    return made;
  }

 private:
  friend class RequestRef;

  void reuse(Request *request) {
    if (ending_) return;
    request->rest_.reset();
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
