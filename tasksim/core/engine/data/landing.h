// Landing: main memory for data that come from other nodes, pinned so that devices can copy them
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
  // *workers* pin it: those that sleep are woken in this order; each makes room for *at_once*.
  Landing(const Clock &clock, const tasksim_platform &platform, std::vector<Routine *> workers,
          i64 at_once);

  // Whether there is room for *size* bytes at once; else who.happen(value) is called later.
  bool ask(i64 size, i64 priority, Awaiting &who, i64 value);

  // Keeps the room of a datum of *size* bytes for the next.
  void give_back(i64 size) { ++kept_[size]; }

  // Whether anybody waits for room that no worker has turned to yet.
  bool waiting() const { return !queue_.empty(); }

  // Makes room, as a worker, for the most urgent of those that wait. A worker turns to some at a
  // time, and leaves to others what it has not done soon.
  Steps<> serve();

  static constexpr i64 LONG = 1'000'000;  // ticks after which a worker leaves the rest to others

  // Who waits for memory.
  struct Asked {
    i64 urgency, turn, size, value;
    Awaiting *who;

    bool before(const Asked &other) const {
      return urgency != other.urgency ? urgency < other.urgency : turn < other.turn;
    }
  };

  // Takes the most urgent of those that wait, so many as a worker turns to at a time.
  std::vector<Asked> take();

  // Lets *asked*, for whom no room was made, wait again before those as urgent.
  void put_back(std::span<const Asked> asked);

  bool take_kept(i64 size);  // room that was given back, if there is any
  i64 allocate(i64 size);    // in so many ticks

  i64 open = 0;  // how many ask for memory and have none yet

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
  i64 pinned_by_ = 0;  // when the last who pins will be ready: one does at a time
};

}  // namespace tasksim
