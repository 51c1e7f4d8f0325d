// Copy engines: the copies that may be in progress together.
#pragma once

#include <deque>
#include <vector>

#include "network.h"
#include "requests.h"

namespace tasksim {

class CopyEngines;

// A copy that was requested.
struct Copy : Awaiting {
  void happen(i64) override;  // the delay of the first use of its way is over
  CopyEngines *engines;
  int source, target;
  i64 size;
  RequestRef request;
  std::vector<Copy *> blocks;
  int blocked_by = 0;
  i64 started = 0;
};

// Starts copies on the network when the rules let them (engine/data/engines.py).
class CopyEngines {
 public:
  using Done = void (*)(void *who, Copy &copy);

  CopyEngines(Clock &clock, const Platform &platform, Done done, void *who)
      : clock_(clock),
        platform_(platform),
        network_(clock, platform, [](void *self, Copy &copy) {
          static_cast<CopyEngines *>(self)->on_end(copy);
        }, this),
        first_use_(platform.given.progress),
        used_(i64{platform.memories} * platform.memories, false),
        done_(done),
        who_(who) {}
  CopyEngines(const CopyEngines &) = delete;

  // Copies *size* bytes for *request* as soon as no earlier request excludes it.
  void ask(const RequestRef &request, i64 size) {
    Copy &copy = new_copy();
    copy.engines = this;
    copy.source = request->source;
    copy.target = request->target;
    copy.size = size;
    copy.request = request;
    for (Copy *other : asked_)
      if (exclude(copy, *other)) {
        other->blocks.push_back(&copy);
        ++copy.blocked_by;
      }
    asked_.push_back(&copy);
    if (!copy.blocked_by) start(copy);
  }

  void send(Copy &copy) {
    copy.started = clock_.now;
    network_.send(copy.source, copy.target, copy.size, copy);
  }

 private:
  Copy &new_copy() {
    if (free_.empty()) {
      all_.emplace_back();
      return all_.back();
    }
    Copy *copy = free_.back();
    free_.pop_back();
    return *copy;
  }

  void start(Copy &copy) {
    const i64 pair = i64{copy.source} * platform_.memories + copy.target;
    if (first_use_ && !used_[pair]) {
      used_[pair] = true;
      clock_.after(first_use_, END_PHASE, copy);
    } else {
      send(copy);
    }
  }

  void on_end(Copy &copy) {
    asked_.erase(std::find(asked_.begin(), asked_.end(), &copy));
    done_(who_, copy);
    for (Copy *other : copy.blocks)
      if (!--other->blocked_by) start(*other);
    copy.blocks.clear();
    copy.request = {};
    free_.push_back(&copy);
  }

  bool exclude(const Copy &one, const Copy &other) const {
    const bool alike = one.source == other.source && one.target == other.target;
    if (alike && network_.shares(one.source, one.target)) return true;
    return platform_.given.serialised && conflict(one, other);
  }

  bool conflict(const Copy &one, const Copy &other) const {
    if (direct(one)) {
      const bool reverse = one.source == other.target && one.target == other.source;
      if (reverse || other.target == one.source || other.target == one.target) return true;
    }
    return direct(other) && (one.target == other.source || one.target == other.target);
  }

  // Whether neither end is main memory.
  bool direct(const Copy &copy) const {
    return platform_.devices[copy.source] && platform_.devices[copy.target];
  }

  Clock &clock_;
  const Platform &platform_;
  Network network_;
  i64 first_use_;  // delay of the first copy between two memories
  std::vector<bool> used_;
  std::vector<Copy *> asked_;
  std::deque<Copy> all_;
  std::vector<Copy *> free_;
  Done done_;
  void *who_;
};

inline void Copy::happen(i64) { engines->send(*this); }

}  // namespace tasksim
