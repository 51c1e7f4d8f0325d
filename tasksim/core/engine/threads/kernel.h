// Kernel of SimGrid: actors that take turns within an instant, one simcall each.
//
// All actors that are awake make their next *simcall* (a lock, an unlock, a signal, a wait) before
// any makes another one; then those whose calls are answered make the next. So what two threads do
// at one instant is ordered by how many simcalls each needs to come to it, and by who holds what
// meanwhile.
//
// What Python yields is awaited here: `co_await mutex`, `co_await condition`. A number of ticks is
// `Wait{5}`, as in routines, who share code with threads; so the wait for a condition is WaitFor,
// so many simcalls that touch nothing others see are `Calls{4}`.
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

// What an actor stops at until the kernel has answered.
class Simcall {
 public:
  Simcall() = default;
  Simcall(const Simcall &) = delete;
  Simcall &operator=(const Simcall &) = delete;

  // What the kernel does for *actor* when all have made their calls.
  virtual void answer(Actor &actor, Kernel &kernel) = 0;

  // A simcall is not awaited itself: GCC 12 awaits a copy of what a function returns a reference to.
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

// So many simcalls that touch nothing others see.
struct Calls {
  int count;
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> place) const noexcept;
  void await_resume() const noexcept {}
};

using Ready = std::vector<Actor *>;  // those that make their next simcall in the coming round

// A mutual exclusion, handed to those that wait for it in order. Awaited, it is locked, or unlocked
// by who holds it.
class Mutex final : public Simcall {
 public:
  // Gives it to *actor*, now or in its turn.
  void lock(Actor &actor, Ready &ready) {
    if (owner) return waiters_.push_back(&actor);
    owner = &actor;
    ready.push_back(&actor);
  }

  // Hands it on.
  void unlock(Ready &ready) {
    owner = waiters_.empty() ? nullptr : waiters_.pop_front();
    if (owner) ready.push_back(owner);
  }

  void answer(Actor &actor, Kernel &kernel) override;

  Actor *owner = nullptr;

 private:
  Line<Actor *> waiters_;
};

// What actors wait for, each with the mutex that it takes again afterwards. Awaited, it is
// signalled to all that wait.
class Condition final : public Simcall {
 public:
  void answer(Actor &actor, Kernel &kernel) override;

  std::vector<std::pair<Actor *, Mutex *>> waiters;
};

// The wait for *condition*, without *mutex* meanwhile.
class WaitFor final : public Simcall {
 public:
  WaitFor(Condition &condition, Mutex &mutex) : condition_(condition), mutex_(mutex) {}
  void answer(Actor &actor, Kernel &kernel) override;

 private:
  Condition &condition_;
  Mutex &mutex_;
};

// A try to lock *mutex*: the actor is its owner then, or not.
class TryLock final : public Simcall {
 public:
  explicit TryLock(Mutex &mutex) : mutex_(mutex) {}
  void answer(Actor &actor, Kernel &kernel) override;

 private:
  Mutex &mutex_;
};

// A computation of so many *ticks*: those that end at one instant end as they began.
class Execution final : public Simcall {
 public:
  explicit Execution(i64 ticks) : ticks_(ticks) {}
  void answer(Actor &actor, Kernel &kernel) override;

 private:
  i64 ticks_;
};

// A thread: the coroutine of its simcalls, run by a Kernel. Nobody finds it asleep: to wake it does
// nothing, who wakes a thread signals what it waits for.
class Actor final : public Routine {
 public:
  Actor(Clock &clock, Kernel &kernel) : Routine(clock), kernel_(kernel) {}

  // Runs *steps* from the present instant on.
  void begin(Steps<> steps) override;

  // Has the thread woken at the end of this instant, if nobody signals it before.
  void notify() override;

  void happen(i64) override;  // its wait is over

  // Computes for so long.
  void execute(i64 ticks) {
    clock_.keep_order();
    sleep(ticks);
  }

  // What rings for it if it sleeps: the condition to signal then, or null.
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

  void sleep(i64 delay) { clock_.after(delay, RUN, *this); }

  Kernel &kernel_;
  int skip_ = 0;             // how many simcalls it has to make before it goes on
  Simcall *call_ = nullptr;  // what it stops at; null: a number of ticks
  bool passing_ = false;     // used again when it has ended
};

// The loop over instants, and over the rounds of each.
class Kernel {
 public:
  explicit Kernel(Clock &clock) : clock_(clock) {}
  Kernel(const Kernel &) = delete;

  // Lets a thread of its own do *calls*, from the present instant on.
  void begin(Steps<> calls) {
    if (free_.empty()) free_.push_back(&passing_.emplace_back(clock_, *this));
    Actor *actor = free_.back();
    free_.pop_back();
    actor->passing_ = true;
    actor->begin(std::move(calls));
  }

  // Lets everything happen, or at most so many simcalls and events, and what else they begin at
  // their instant; returns whether any are left. Whenever nothing is left to happen and there was
  // *progress*, all who sleep look around once: what the engine asks for by itself, to make room,
  // has no thread that would wake others.
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
  std::vector<Actor *> rung;      // those that were told of something by the engine, not a thread
  std::vector<Actor *> sleepers;  // those that have a bell, in order
  std::vector<Condition *> advances;  // those that are signalled whenever the time has advanced
  i64 calls = 0;  // that were made

 private:
  // Whether nothing is left to happen; if not, it was time to look whether the user wants to stop.
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

  // Makes the rounds of an instant, until all wait.
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
  std::deque<Actor> passing_;  // threads that end, and those that have, for use again
  std::vector<Actor *> free_;
  i64 left_ = 0;    // until somebody looks whether the user wants to stop
  i64 before_ = 0;  // the progress when all was looked around last
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
