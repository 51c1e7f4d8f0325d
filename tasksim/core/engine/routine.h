// Routine: a process that runs, waits for a time, and sleeps until it is woken.
//
// A C++ coroutine where engine/clock.py has a generator: `co_await Wait{5}` is `yield 5`,
// `co_await SLEEP` is `yield None`, `co_await other()` is `yield from other()`.
#pragma once

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

#include "clock.h"
#include "frames.h"

namespace tasksim {

class Routine;

struct Wait {
  i64 delay;
  bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> handle) const noexcept;
  void await_resume() const noexcept {}
};

inline constexpr Wait SLEEP{-1};

// Common state of a routine's coroutines: their routine, and the caller to resume at the end.
struct StepsPromise {
  Routine *routine = nullptr;
  std::coroutine_handle<> caller = nullptr;
  std::exception_ptr error;

  static void *operator new(std::size_t size) { return Frames::get(size); }
  static void operator delete(void *frame, std::size_t size) { Frames::give_back(frame, size); }

  std::suspend_always initial_suspend() noexcept { return {}; }

  struct End {
    bool await_ready() noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> handle) noexcept;
    void await_resume() noexcept {}
  };
  End final_suspend() noexcept { return {}; }
  void unhandled_exception() { error = std::current_exception(); }
};

template <class T>
struct ResultPromise : StepsPromise {
  T result{};
  void return_value(T value) { result = std::move(value); }
  T take() { return std::move(result); }
};

template <>
struct ResultPromise<void> : StepsPromise {
  void return_void() {}
  void take() {}
};

// The steps of a routine, or of a coroutine that it calls; they end with a T.
template <class T = void>
class [[nodiscard]] Steps {
 public:
  struct promise_type : ResultPromise<T> {
    Steps get_return_object() { return Steps(Handle::from_promise(*this)); }
  };
  using Handle = std::coroutine_handle<promise_type>;

  Steps() = default;
  explicit Steps(Handle handle) : handle_(handle) {}
  Steps(Steps &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Steps &operator=(Steps &&other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Steps() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> caller) noexcept;
  T await_resume() {
    if (handle_.promise().error) std::rethrow_exception(handle_.promise().error);
    return handle_.promise().take();
  }

  Handle handle() const { return handle_; }

 private:
  Handle handle_ = nullptr;
};

// Data that a routine uses when it resumes, to prefetch.
class Forerunner {
 public:
  virtual void send_for(int turns) const = 0;  // as Awaiting::soon, 2 to 0

 protected:
  ~Forerunner() = default;
};

class Routine : public Awaiting {
 public:
  explicit Routine(Clock &clock) : clock_(clock) {}
  virtual ~Routine() = default;
  Routine(const Routine &) = delete;
  Routine &operator=(const Routine &) = delete;

  // Runs *steps* up to the first wait.
  virtual void begin(Steps<> steps) {
    take(std::move(steps));
    if (go_on()) wait();
  }

  // Resumes it if it sleeps; else makes sure that it does not fall asleep.
  void wake() {
    woken = true;
    if (asleep) {
      asleep = false;
      if (go_on()) wait();
    }
  }

  // The same, for a caller that the clock has notified and that does nothing else afterwards: the
  // routine's next wait may pass without an event.
  // pass without an event.
  void wake_at_last() {
    woken = true;
    if (!asleep) return;
    asleep = false;
    happen(0);
  }

  // Wakes it for a reason other than the end of its own action.
  virtual void notify() {
    notified = true;
    wake();
  }

  // It waits at *place* for *ticks*.
  void stop_at(std::coroutine_handle<> place, i64 delay) {
    innermost_ = place;
    delay_ = delay;
  }

  void happen(i64) override {
    while (go_on())
      if (!clock_.passes(delay_, phase)) return wait();
  }

  void soon(i64, int turns) const override {
    if (turns == 3) {
      send_for_frame();
      __builtin_prefetch(forerunner);
    } else if (forerunner) {
      forerunner->send_for(turns);
    }
  }

  void send_for_frame() const {
    const char *frame = static_cast<const char *>(innermost_.address());
    for (int line = 0; line < 4; ++line) __builtin_prefetch(frame + 64 * line, 1);
  }

  const Forerunner *forerunner = nullptr;
  double phase = END_PHASE;      // order of the events of one instant, the lowest first
  bool asleep = false;
  bool woken = false;     // whether wake was called since the routine reset this
  bool notified = false;  // whether something new happened for it

 protected:
  void take(Steps<> steps) {
    steps_ = std::move(steps);
    steps_.handle().promise().routine = this;
    innermost_ = steps_.handle();
  }

  // Makes the next step; returns whether there will be another. A loop alternates between caller
  // and called coroutine. Resuming one inside the other would need as much stack as there are
  // calls, except with compilers that turn these calls into jumps.
  bool step() {
    do {
      goes_on_ = false;
      innermost_.resume();
    } while (goes_on_);
    const auto top = steps_.handle();
    if (!top.done()) return true;
    if (top.promise().error) std::rethrow_exception(top.promise().error);
    return false;
  }

  Clock &clock_;
  i64 delay_ = 0;

 private:
  friend struct StepsPromise;
  template <class T>
  friend class Steps;

  // Makes the next step; returns whether it then waits for some time.
  bool go_on() {
    if (!step()) return false;
    asleep = delay_ < 0;
    return !asleep;
  }

  void wait() { clock_.after(delay_, phase, *this); }

  // The next coroutine to resume, which may be called, calling, or waiting.
  void turn_to(std::coroutine_handle<> next) {
    innermost_ = next;
    goes_on_ = next != nullptr;
  }

  Steps<> steps_;
  std::coroutine_handle<> innermost_ = nullptr;  // the one that waits
  bool goes_on_ = false;
};

template <class Promise>
void StepsPromise::End::await_suspend(std::coroutine_handle<Promise> handle) noexcept {
  handle.promise().routine->turn_to(handle.promise().caller);
}

template <class T>
template <class Promise>
void Steps<T>::await_suspend(std::coroutine_handle<Promise> caller) noexcept {
  Routine *routine = caller.promise().routine;
  handle_.promise().caller = caller;
  handle_.promise().routine = routine;
  routine->turn_to(handle_);
}

template <class Promise>
void Wait::await_suspend(std::coroutine_handle<Promise> handle) const noexcept {
  handle.promise().routine->stop_at(handle, delay);
}

}  // namespace tasksim
