// Kernel of SimGrid: actors that take turns within an instant, one simcall each.
//
// All actors that are awake make their next *simcall* (a lock, an unlock, a signal, a wait) before
// any makes another one; then those with answered calls make the next. So two threads' actions at
// one instant are ordered by the number of simcalls that each needs to get there, and by the locks
// held meanwhile.
//
// A Python `yield` is an await here: `co_await mutex`, `co_await condition`. A number of ticks is
// `Wait{5}`, as in routines, which share code with threads; so the wait for a condition is WaitFor,
// and a number of simcalls that touch no shared state is `Calls{4}`.
#pragma once

#include <deque>
#include <functional>
#include <utility>
#include <vector>

#include "../../schedulers/line.h"
#include "../routine.h"

namespace tasksim::threads {

class Actor;
class Kernel;

// A call at which an actor stops until the kernel has answered.
class Simcall {
 public:
  Simcall() = default;
  Simcall(const Simcall &) = delete;
  Simcall &operator=(const Simcall &) = delete;

  // The kernel's answer to *actor*, after all have made their calls.
  virtual void answer(Actor &actor, Kernel &kernel) = 0;

  // A simcall is not awaited itself: GCC 12 awaits a copy of the object behind a returned
  // reference.
  struct Stop {
    Simcall *call;
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> place) const noexcept;
    void await_resume() const noexcept {}
  };
  Stop operator co_await() noexcept { return {this}; }

 protected:
  ~Simcall() = default;
};

// A number of simcalls that touch no shared state.
struct Calls {
  int count;
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> place) const noexcept;
  void await_resume() const noexcept {}
};

using Ready = std::vector<Actor *>;  // actors that make their next simcall in the coming round

// A mutual exclusion, handed to waiting actors in order. Awaiting it locks it, or unlocks it if the
// actor holds it.
class Mutex final : public Simcall {
 public:
  // Gives it to *actor*, now or in its turn.
  void lock(Actor &actor, Ready &ready) {
    if (owner) return waiters_.push_back(&actor);
    owner = &actor;
    ready.push_back(&actor);
  }

  // Hands it to the next actor.
  void unlock(Ready &ready) {
    owner = waiters_.empty() ? nullptr : waiters_.pop_front();
    if (owner) ready.push_back(owner);
  }

  void answer(Actor &actor, Kernel &kernel) override;

  Actor *owner = nullptr;

 private:
  Line<Actor *> waiters_;
};

// A condition that actors wait for, each with a mutex to take again afterwards. Awaiting it signals
// all waiting actors.
class Condition final : public Simcall {
 public:
  void answer(Actor &actor, Kernel &kernel) override;

  std::vector<std::pair<Actor *, Mutex *>> waiters;
};

// A wait for *condition*, without *mutex* meanwhile.
class WaitFor final : public Simcall {
 public:
  WaitFor(Condition &condition, Mutex &mutex) : condition_(condition), mutex_(mutex) {}
  void answer(Actor &actor, Kernel &kernel) override;

 private:
  Condition &condition_;
  Mutex &mutex_;
};

// An attempt to lock *mutex*: afterwards the actor is its owner, or not.
class TryLock final : public Simcall {
 public:
  explicit TryLock(Mutex &mutex) : mutex_(mutex) {}
  void answer(Actor &actor, Kernel &kernel) override;

 private:
  Mutex &mutex_;
};

// A computation of *ticks*: those that end at one instant end in the order of their starts.
class Execution final : public Simcall {
 public:
  explicit Execution(i64 ticks) : ticks_(ticks) {}
  void answer(Actor &actor, Kernel &kernel) override;

 private:
  i64 ticks_;
};

// A thread: the coroutine of its simcalls, run by a Kernel. It never counts as asleep: wake does
// nothing, and a thread is woken by a signal to the condition that it waits for.
class Actor final : public Routine {
 public:
  Actor(Clock &clock, Kernel &kernel) : Routine(clock), kernel_(kernel) {}

  // Runs *steps* from the present instant on.
  void begin(Steps<> steps) override;

  // Wakes the thread at the end of this instant, unless a signal comes before.
  void notify() override;

  void happen(i64) override;  // its wait is over

  // Computes for *ticks*.
  void execute(i64 ticks) {
    clock_.keep_order();
    sleep(ticks);
  }

  // Its bell if it sleeps: returns the condition to signal, or null.
  std::function<Condition *()> bell;

 private:
  friend class Kernel;
  friend class Simcall;
  friend struct Calls;

  // Makes its next simcall; false if there is none left.
  bool makes_call() {
    if (skip_) {
      --skip_;
      return true;
    }
    call_ = nullptr;
    return step();
  }

  void sleep(i64 delay) { clock_.after(delay, END_PHASE, *this); }

  Kernel &kernel_;
  int skip_ = 0;             // simcalls that it has to make before it continues
  Simcall *call_ = nullptr;  // the call at which it stops; null: a number of ticks
  bool passing_ = false;     // whether it is reused after its end
};

// The loop over instants, and over the rounds of each.
class Kernel {
 public:
  explicit Kernel(Clock &clock) : clock_(clock) {}
  Kernel(const Kernel &) = delete;

  // Lets a new thread make *calls*, from the present instant on.
  void begin(Steps<> calls) {
    if (free_.empty()) free_.push_back(&passing_.emplace_back(clock_, *this));
    Actor *actor = free_.back();
    free_.pop_back();
    actor->passing_ = true;
    actor->begin(std::move(calls));
  }

  // Lets all events happen, or at most *most* simcalls and events, with the others that they start
  // at their instant; returns whether any are left. Whenever no event is left and there was
  // *progress*, all sleepers check for work once: when the engine requests something itself, to
  // make room, no thread wakes others.
  template <class Progress>
  bool run(i64 most, Progress progress) {
    left_ = most;
    while (drain()) {
      rung.insert(rung.end(), sleepers.begin(), sleepers.end());
      const i64 now = progress();
      if (now <= before_) return false;
      before_ = now;
    }
    return true;
  }

  void signal(Condition &condition) {
    const auto waiters = std::exchange(condition.waiters, {});
    for (const auto &[actor, mutex] : waiters) mutex->lock(*actor, ready);
  }

  Ready ready;
  std::vector<Actor *> rung;      // actors notified by the engine, not by a thread
  std::vector<Actor *> sleepers;  // actors with a bell, in order
  std::vector<Condition *> advances;  // conditions to signal whenever the time advances
  i64 calls = 0;  // simcalls so far

 private:
  // Whether no event is left; if false, it was time to check for a user's interruption.
  bool drain() {
    instant();
    while (!clock_.empty()) {
      if (left_ <= 0) return false;
      const i64 now = clock_.next();
      if (now != clock_.now)
        for (Condition *advance : advances)
          if (!advance->waiters.empty()) signal(*advance);
      for (; !clock_.empty() && clock_.next() == now; --left_) clock_.go_on();
      instant();
    }
    return true;
  }

  // Makes the rounds of an instant, until all actors wait.
  void instant() {
    rounds();
    while (!rung.empty()) {
      for (const Actor *actor : std::exchange(rung, {}))
        if (Condition *condition = actor->bell ? actor->bell() : nullptr) signal(*condition);
      rounds();
    }
  }

  void rounds() {
    while (!ready.empty()) {
      calling_.clear();
      calling_.swap(ready);
      std::size_t calling = 0;
      for (Actor *actor : calling_) {
        if (actor->makes_call())
          calling_[calling++] = actor;
        else if (actor->passing_)
          free_.push_back(actor);
      }
      calling_.resize(calling);
      calls += static_cast<i64>(calling);
      left_ -= static_cast<i64>(calling);
      for (Actor *actor : calling_) answer(*actor);
    }
  }

  void answer(Actor &actor) {
    if (actor.call_) return actor.call_->answer(actor, *this);
    if (actor.delay_) return actor.sleep(actor.delay_);
    ready.push_back(&actor);
  }

  Clock &clock_;
  Ready calling_;
  std::deque<Actor> passing_;  // threads that end; ended ones are reused
  std::vector<Actor *> free_;
  i64 left_ = 0;    // until the next check for a user's interruption
  i64 before_ = 0;  // progress at the last check of all sleepers
};

template <class Promise>
void Simcall::Stop::await_suspend(std::coroutine_handle<Promise> place) const noexcept {
  auto *actor = static_cast<Actor *>(place.promise().routine);
  actor->stop_at(place, 0);
  actor->call_ = call;
}

template <class Promise>
void Calls::await_suspend(std::coroutine_handle<Promise> place) const noexcept {
  auto *actor = static_cast<Actor *>(place.promise().routine);
  actor->stop_at(place, 0);
  actor->skip_ = count - 1;
}

inline void Mutex::answer(Actor &actor, Kernel &kernel) {
  if (owner != &actor) return lock(actor, kernel.ready);
  unlock(kernel.ready);
  kernel.ready.push_back(&actor);
}

inline void Condition::answer(Actor &actor, Kernel &kernel) {
  kernel.signal(*this);
  kernel.ready.push_back(&actor);
}

inline void WaitFor::answer(Actor &actor, Kernel &kernel) {
  mutex_.unlock(kernel.ready);
  condition_.waiters.emplace_back(&actor, &mutex_);
}

inline void TryLock::answer(Actor &actor, Kernel &kernel) {
  if (!mutex_.owner) mutex_.owner = &actor;
  kernel.ready.push_back(&actor);
}

inline void Execution::answer(Actor &actor, Kernel &) { actor.execute(ticks_); }

inline void Actor::begin(Steps<> steps) {
  take(std::move(steps));
  kernel_.ready.push_back(this);
}

inline void Actor::notify() { kernel_.rung.push_back(this); }

inline void Actor::happen(i64) { kernel_.ready.push_back(this); }

}  // namespace tasksim::threads
