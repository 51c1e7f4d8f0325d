// Clock: whole ticks, events in order (engine/clock.py).
#pragma once

#include <utility>

#include "../problem.h"
#include "../runtime/ledger.h"
#include "heap.h"

namespace tasksim {

inline constexpr double END_PHASE = 1.0;     // phase, within an instant, of ends: SimPy's own
inline constexpr double PUSH_PHASE = 3.0;    // phase of pushes that take time, and of blind choices
inline constexpr double COMMIT_PHASE = 4.0;  // phase of the commits of blind choices
inline constexpr double LAST_PHASE = INF;    // phase of the events at the end of an instant
// Rounding of an end in ticks: else a task that ends on a tick would end one later.
inline constexpr double END_ROUNDING_TICKS = 1e-6;

// The sum of two times. A replay of centuries is left to the engine with unbounded integers.
inline i64 later(i64 time, i64 delay) {
  i64 sum;
  if (delay < 0 || __builtin_add_overflow(time, delay, &sum)) throw Broken{TASKSIM_TOO_LATE};
  return sum;
}

// Converts seconds to whole ticks: the nearest one, of two equally near the even one.
inline i64 ticks(double seconds) {
  const double rounded = std::nearbyint(seconds * 1e9);
  if (!(rounded >= 0.0 && rounded < 9e18)) throw Broken{TASKSIM_TOO_LATE};
  return static_cast<i64>(rounded);
}

// An object that the clock notifies when a time has come.
class Awaiting {
 public:
  virtual void happen(i64 value) = 0;

  // The event is about to happen, after some 2^turns others: its data may be prefetched, a step of
  // the way at each turn, 3 to 0. Changes nothing.
  virtual void soon(i64 /*value*/, int /*turns*/) const {}

 protected:
  ~Awaiting() = default;
};

class Clock {
 public:
  // Waits that begin at one instant, and end at one, end in reverse order (SimGrid's).
  void end_waits_in_reverse() { reversed_ = true; }

  // Lets the next wait end after those that began before it.
  void keep_order() { forward_ = true; }

  // Calls who.happen(value) after *delay* ticks; of one instant, the lowest *phase* first.
  void after(i64 delay, double phase, Awaiting &who, i64 value = 0) {
    const Event event{later(now, delay), phase, next_number(), &who, value};
    (delay ? queue_ : instant_).push(event);
  }

  bool empty() const { return instant_.empty() && queue_.empty(); }
  i64 next() const { return instant_.empty() ? queue_.first().time : now; }

  // Lets at most *most* events happen; returns whether any are left.
  bool run(i64 most) {
    left_ = most;
    while (!empty()) {
      if (left_ <= 0) return true;
      go_on();
    }
    return false;
  }

  // Lets the next event happen.
  void go_on() {
    const bool at_once = !instant_.empty() &&
                         (queue_.empty() || instant_.first().before(queue_.first()));
    const Event event = at_once ? instant_.pop() : next_of_queue();
    come_to(event.time);
    event.who->happen(event.value);
  }

  // Returns whether nothing else happens before a wait of *phase* that takes *delay* ticks ends.
  // Then they pass without an event in the queue. For an object that the clock has notified and
  // that has nothing else to do at this instant.
  bool passes(i64 delay, double phase) {
    const i64 time = later(now, delay);
    if (left_ <= 0 || happens_by(time, phase)) return false;
    forward_ = false;
    come_to(time);
    return true;
  }

  i64 now = 0;
  i64 events = 0;  // events so far

 private:
  struct Event {
    i64 time;
    double phase;
    i64 number;  // order of equal events
    Awaiting *who;
    i64 value;

    bool before(const Event &other) const {
      if (time != other.time) return time < other.time;
      if (phase != other.phase) return phase < other.phase;
      return number < other.number;
    }
  };

  // Whether some pending event is no later than one that begins now, at *time*.
  bool happens_by(i64 time, double phase) const {
    const auto is_by = [=](const Heap<Event> &heap) {
      if (heap.empty()) return false;
      const Event &first = heap.first();
      return first.time < time || (first.time == time && first.phase <= phase);
    };
    return is_by(instant_) || is_by(queue_);
  }

  // The data of few events have not left the processor's caches.
  Event next_of_queue() {
    if (queue_.size() < MIN_PREFETCHED_EVENTS) return queue_.pop();
    return queue_.pop([](const Event &event, std::size_t place) {
      if (place >= 31) return;
      if (place >= 15) return __builtin_prefetch(event.who);
      event.who->soon(event.value, place >= 7 ? 3 : place >= 3 ? 2 : place >= 1 ? 1 : 0);
    });
  }

  void come_to(i64 time) {
    if (time != now) {
      ++instants_;
      steps_ = 0;
    }
    now = time;
    ++events;
    --left_;
  }

  // Numbers rise; if waits end in reverse, those of one instant fall (engine/clock.py).
  i64 next_number() {
    ++steps_;
    if (!reversed_) return ++count_;
    constexpr i64 MAX_STEPS = i64{1} << 31;  // instants, and events that begin at one
    if (instants_ >= MAX_STEPS || steps_ >= MAX_STEPS) throw Broken{TASKSIM_TOO_LATE};
    return (instants_ << 32) + (std::exchange(forward_, false) ? steps_ : -steps_);
  }

  // Events that begin and happen at this instant are kept apart: they need not pass through all
  // pending events, which are many on a thousand nodes.
  Heap<Event> queue_, instant_;
  // Least number of events whose data are prefetched: with a kilobyte each, half of a usual cache.
  static constexpr std::size_t MIN_PREFETCHED_EVENTS = 1024;
  i64 left_ = 0;  // events until the next check for a user's interruption
  i64 count_ = 0;
  i64 instants_ = 0, steps_ = 0;  // instants so far; events that began at this one
  bool reversed_ = false, forward_ = false;
};

}  // namespace tasksim
