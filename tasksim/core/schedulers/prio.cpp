// prio: one queue for all, sorted by priority (schedulers/prio.py).
#include "queues.h"

namespace tasksim {

namespace {

class Prio : public Scheduler {
 public:
  void attach(View &given) override {
    Scheduler::attach(given);
    queue_ = std::make_unique<PriorityQueue>(given);
  }
  void push(int task) override {
    queue_->push(task);
    view->wake_any(task);
  }
  int pop(int worker) override { return queue_->pop(worker); }

 private:
  std::unique_ptr<PriorityQueue> queue_;
};

const Register prio("prio", [](const Options &) { return std::make_unique<Prio>(); });

}  // namespace

}  // namespace tasksim
