// Intake: the arrival of the data of the task that a worker has popped, one task at a time.
#pragma once

#include "../data/mover.h"
#include "../data/turns.h"

namespace tasksim {

// The data of the task that the worker of a routine takes in (engine/machine/driver.py).
class Intake : public Taker, public TurnTaker {
 public:
  // COMING: data are missing, or the task waits for its turn to request them. THERE: all are there,
  // and it was not launched yet. BLOCKED: the task must be alone on the device, and others are
  // before.
  enum State : std::int8_t { EMPTY, COMING, THERE, BLOCKED };

  // Without a *mover* there is only one memory, which has all data.
  Intake(const Graph &graph, Routine &routine, int memory_, Mover *mover, Turns *turns,
         bool uses_priorities, i64 cost)
      : graph_(graph),
        routine_(routine),
        mover_(mover),
        turns_(turns),
        uses_priorities_(uses_priorities),
        cost_(cost) {
    memory = memory_;
  }

  bool moves() const { return mover_; }  // whether there are several memories

  // Starts with the data of *popped*, which are requested one by one.
  void expect(int popped) {
    turn_to(popped);
    missing = static_cast<int>(graph_.needs[popped].size());
    state = COMING;
  }

  // Requests the data of *popped*; returns the worker's time for that, in ticks.
  i64 fetch(int popped) {
    if (!mover_ && !cost_) {  // in large graphs, needs are far from the processor
      state = THERE;
      return 0;
    }
    const auto needs = graph_.needs[popped];
    if (!mover_) {
      state = THERE;
    } else {
      turn_to(popped);
      turns_ ? wait_for_turn(needs) : bring();
    }
    return cost_ * static_cast<i64>(needs.size());
  }

  void arrive() override {
    if (--missing) return routine_.wake();
    state = THERE;
    if (turns_) turns_->completed();
    routine_.wake();
  }

  bool take_turn() override {
    bring();
    if (state == COMING) return true;
    routine_.wake();
    return false;
  }

  State state = EMPTY;
  int missing = 0;  // number of its data that are not there yet

 private:
  void turn_to(int popped) {
    task = popped;
    priority = uses_priorities_ ? graph_.priority[popped] : 0;
  }

  void wait_for_turn(std::span<const Need> needs) {
    state = COMING;
    const bool woken = routine_.woken;
    turns_->ask(needs, *this);
    if (state == THERE) routine_.woken = woken;  // at once: nothing has changed
  }

  void bring() {
    missing = mover_->fetch(graph_.needs[task], *this);
    state = missing ? COMING : THERE;
  }

  const Graph &graph_;
  Routine &routine_;
  Mover *mover_;
  Turns *turns_;
  bool uses_priorities_;
  i64 cost_;
};

}  // namespace tasksim
