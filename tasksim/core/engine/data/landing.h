// Landing: main memory for data from other nodes, pinned so that devices can copy them
// (engine/data/landing.py).
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "../heap.h"
#include "../routine.h"
#include "pool.h"

namespace tasksim {

class Landing {
 public:
  // *workers* pin it: sleeping ones are woken in this order; each makes room for *at_once*
  // requests.
  Landing(const Clock &clock, const tasksim_platform &platform, std::vector<Routine *> workers,
          i64 at_once);

  // Whether there is room for *size* bytes now; else who.happen(value) is called later.
  bool ask(i64 size, i64 priority, Awaiting &who, i64 value);

  // Keeps the room of a datum of *size* bytes for the next one.
  void give_back(i64 size) { ++kept_[size]; }

  // Whether a request for room waits that no worker handles yet.
  bool waiting() const { return !queue_.empty(); }

  // Makes room, as a worker, for the most urgent waiting requests. A worker handles some at a time,
  // and leaves to others those that it has not finished soon.
  Steps<> serve();

  // Ticks after which a worker leaves the rest to others.
  static constexpr i64 MAX_PIN_TURN_TICKS = 1'000'000;

  // A request for memory.
  struct Asked {
    i64 urgency, turn, size, value;
    Awaiting *who;

    bool before(const Asked &other) const {
      return urgency != other.urgency ? urgency < other.urgency : turn < other.turn;
    }
  };

  // Takes the most urgent waiting requests, as many as a worker handles at a time.
  std::vector<Asked> take();

  // Lets *asked*, which got no room, wait again before equally urgent ones.
  void put_back(std::span<const Asked> asked);

  bool take_kept(i64 size);  // uses room that was given back, if there is any
  i64 allocate(i64 size);    // returns its duration in ticks

  i64 open = 0;  // requests that have no memory yet

 private:
  void wake();

  const Clock &clock_;
  const double pin_s_, largest_, chunk_;
  const std::vector<Routine *> workers_;
  const i64 at_once_;
  Pool pool_;
  std::unordered_map<i64, i64> kept_;
  Heap<Asked> queue_;
  i64 turn_ = 0, first_ = 0;
  i64 pinned_by_ = 0;  // end of the last pinning: one worker pins at a time
};

}  // namespace tasksim
