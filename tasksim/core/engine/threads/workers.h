// Workers in StarPU's threads: states, locks, and wake-ups of each other.
#pragma once

#include <deque>
#include <vector>

#include "../machine/node.h"
#include "kernel.h"

namespace tasksim::threads {

// The bell on which a worker sleeps without work (starpu_pthread_wait_t).
class Bell {
 public:
  // Forgets earlier rings.
  Steps<> reset() {
    co_await mutex_;
    rung_ = false;
    co_await mutex_;
  }

  // Waits until it is rung, unless it was since the last reset.
  Steps<> sleep() {
    co_await mutex_;
    while (!rung_) co_await wait_;
    co_await mutex_;
  }

  // Wakes a worker that sleeps on it.
  Steps<> ring() {
    co_await mutex_;
    rung_ = true;
    co_await condition_;
    co_await mutex_;
  }

  // Marks it as rung if a worker sleeps on it; returns the condition to signal, or null.
  Condition *ring_if_slept_on() {
    if (condition_.waiters.empty()) return nullptr;
    rung_ = true;
    return &condition_;
  }

 private:
  Mutex mutex_;
  Condition condition_;
  WaitFor wait_{condition_, mutex_};
  bool rung_ = false;
};

// StarPU's state of a worker (core/workers.h).
class Worker {
 public:
  explicit Worker(Driver &driver)
      : driver(driver), number(driver.worker), memory(driver.memory) {}
  Worker(const Worker &) = delete;

  Actor &actor() const { return static_cast<Actor &>(driver.routine); }

  // Begins to push or pop, with the mutex held.
  void enter() {
    operating = true;
    relaxed = 0;
  }

  // Ends that, with the mutex held.
  Steps<> leave() {
    operating = false;
    relaxed = 1;
    co_await condition;
  }

  // Allows others to interrupt its operation.
  Steps<> relax() {
    if (!operating) co_return;
    co_await mutex;
    ++relaxed;
    co_await condition;
    co_await mutex;
  }

  // Forbids others to interrupt it.
  Steps<> tense() {
    if (!operating) co_return;
    co_await mutex;
    --relaxed;
    co_await mutex;
  }

  Driver &driver;
  const int number, memory;
  Mutex mutex;  // of its state
  Condition condition;
  WaitFor until_relaxed{condition, mutex};
  Bell bell;
  bool scheduling = true;  // looks for a task, since its last one
  bool sleeping = true;    // its last pop returned none
  bool operating = false;  // pushes or pops now
  int relaxed = 1;         // others may interrupt that
  bool told = false;       // woken since it last asked; cores never forget it
};

// All workers, with the queues on which they are woken.
class Office {
 public:
  Office(const std::vector<std::unique_ptr<Driver>> &drivers, int memories)
      : on_(memories), by_memory_(memories), by_worker_(drivers.size()) {
    for (const auto &driver : drivers) {
      Worker &worker = workers.emplace_back(*driver);
      on_[0].push_back(&worker);  // drivers of devices handle main memory, too
      if (worker.memory) on_[worker.memory].push_back(&worker);
    }
  }

  // Wakes all workers that handle *memory*: one of a task's data is there.
  Steps<> stir(int memory) {
    Mutex &queue = by_memory_[memory];
    co_await queue;
    for (Worker *worker : on_[memory]) co_await worker->bell.ring();
    co_await queue;
  }

  // Wakes all workers that handle *memory*, and marks them as woken.
  Steps<> tell_all(int memory, Worker *me) {
    co_await conditions_;
    for (Worker *worker : on_[memory]) {
      if (worker == me) {
        worker->told = true;
        continue;
      }
      co_await worker->mutex;
      worker->told = true;
      co_await worker->condition;
      co_await worker->mutex;
    }
    co_await conditions_;
    co_await stir(memory);
  }

  // Wakes *worker* for a task; returns whether no other need be woken. A worker that is just asking
  // is not interrupted: it will find the task.
  Steps<bool> tell(Worker &worker, Worker *me) {
    if (&worker != me) {
      if (me) co_await me->relax();
      co_await worker.mutex;
      while (!worker.relaxed) {
        if (worker.scheduling) {
          worker.told = true;
          co_await worker.mutex;
          if (me) co_await me->tense();
          co_return true;
        }
        co_await worker.until_relaxed;
      }
    } else {
      co_await worker.mutex;
    }
    const bool fresh = co_await tell_locked(worker);
    co_await worker.mutex;
    if (&worker != me && me) co_await me->tense();
    co_return fresh;
  }

  // Wakes *worker*, whose mutex is held; returns whether it slept and was not woken yet.
  Steps<bool> tell_locked(Worker &worker) {
    Mutex &queue = by_worker_[worker.number];
    co_await queue;
    co_await worker.bell.ring();
    co_await queue;
    if (worker.sleeping) {
      const bool fresh = !std::exchange(worker.told, true);
      co_await worker.condition;
      co_return fresh;
    }
    if (worker.scheduling) worker.told = true;
    co_return false;
  }

  // Wakes *worker* when a kernel has ended on its device.
  Steps<> ended(Worker &worker) {
    co_await worker.mutex;
    while (!worker.relaxed) co_await worker.until_relaxed;
    co_await tell_locked(worker);
    co_await worker.mutex;
  }

  std::deque<Worker> workers;

 private:
  std::vector<std::vector<Worker *>> on_;  // per memory, the workers that handle it
  std::vector<Mutex> by_memory_, by_worker_;
  Mutex conditions_;
};

}  // namespace tasksim::threads
