// Central queue: one queue for all workers; the base of eager and prio, for threads too
// (schedulers/central.py).
#pragma once

#include "queues.h"

namespace tasksim {

class CentralScheduler : public Scheduler {
 public:
  void push(int task) override {
    put(task);
    view->wake_any(task);
  }

  virtual void put(int task) = 0;  // queues *task* without a wake-up
  virtual i64 waiting() const = 0;  // number of waiting tasks
};

template <class Queue>
class Central : public CentralScheduler {
 public:
  void attach(View &given) override {
    Scheduler::attach(given);
    queue_ = std::make_unique<Queue>(given);
  }
  void put(int task) override { queue_->push(task); }
  i64 waiting() const override { return queue_->size(); }
  int pop(int worker) override { return queue_->pop(worker); }

 private:
  std::unique_ptr<Queue> queue_;
};

}  // namespace tasksim
