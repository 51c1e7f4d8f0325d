// Request: a wanted copy of a datum in a memory, and its states.
#pragma once

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "store.h"
#include "ways.h"

namespace tasksim {

inline constexpr int NOBODY = -1;  // the task of a request without one

// Classes of requests; the last value is the reason of copies that make room.
enum Kind : int { FETCH, PREFETCH, IDLE, WRITE_BACK };
inline constexpr int KINDS = 3;

enum class RequestState : std::int8_t { PENDING, CANCELLED, PLACING, UNDER_WAY, ENDED };

// Purpose of a request: its class, its task, its urgency.
struct Purpose {
  int kind, task, priority;
};

struct Channel;
class Request;
class Requests;

// A waiter for the requests of one datum of a task (engine/data/mover.py, _fetch_later).
class Waiter {
 public:
  virtual ~Waiter() = default;
  virtual void one_done() = 0;
};

// A reference to a request, which is reused after the last one.
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

// A request for a copy over one hop or, without a source, for a place (engine/data/requests.py).
// Rarely used fields are apart, so that it fits a cache line.
class alignas(64) Request {
 public:
  bool begun() const { return state >= RequestState::UNDER_WAY; }
  bool cancelled() const { return state == RequestState::CANCELLED; }

  // Gives it up, unless its copy has begun.
  void cancel() {
    if (!begun()) state = RequestState::CANCELLED;
  }

  // The request that continues from its target.
  const RequestRef &next_hop() const {
    static const RequestRef none;
    return rest_ ? rest_->next_hop : none;
  }
  void go_on_with(RequestRef next) { rest().next_hop = std::move(next); }

  // Waiters for its end.
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

  // Requests for the same copy, done with it.
  std::size_t followers() const { return rest_ ? rest_->followers.size() : 0; }
  RequestRef follower(std::size_t number) const { return rest_->followers[number]; }
  void lead(const RequestRef &follower) { rest().followers.push_back(follower); }

  i64 asked;
  Channel *channel;
  std::int32_t handle, task, priority;
  std::int8_t source, target;  // memories
  std::int8_t kind, reason;
  RequestState state;
  bool write;  // whether the datum will be written there
  bool keeps;  // whether it keeps its copy at the source, and its place at the target

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

// All requests of a replay; finished ones are reused.
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
    made->state = RequestState::PENDING;
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
