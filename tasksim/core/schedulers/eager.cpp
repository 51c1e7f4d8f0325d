// eager: one queue for all; the worker that asks first gets the oldest task (schedulers/eager.py).
#include "queues.h"

namespace tasksim {

namespace {

class Eager : public Scheduler {
 public:
  void attach(View &given) override {
    Scheduler::attach(given);
    queue_ = std::make_unique<FifoQueue>(given);
  }
  void push(int task) override {
    queue_->push(task);
    view->wake_any(task);
  }
  int pop(int worker) override { return queue_->pop(worker); }

 private:
  std::unique_ptr<FifoQueue> queue_;
};

const Register eager("eager", [](const Options &) { return std::make_unique<Eager>(); });

}  // namespace

}  // namespace tasksim
