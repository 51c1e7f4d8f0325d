// modular-eager and modular-prio: one central queue, all workers woken by every push
// (schedulers/modular_eager.py).
#include "modular_queue.h"

namespace tasksim {

namespace {

class ModularEager : public Scheduler {
 public:
  explicit ModularEager(Order order) : order_(order) {}

  void attach(View &given) override {
    Scheduler::attach(given);
    queue_ = std::make_unique<WorkerQueue>(given, order_);
  }

  void push(int task) override {
    queue_->push(task);
    for (int worker = 0; worker < view->workers(); ++worker) view->wake(worker);
  }

  int pop(int worker) override {
    const int task = queue_->first();
    if (task == NONE) return NONE;
    if (!view->can_run(task, worker)) {
      view->wake_any(task);
      return NONE;
    }
    return queue_->pop();
  }

 private:
  Order order_;
  std::unique_ptr<WorkerQueue> queue_;
};

Maker in(Order order) {
  return [order](const Options &) { return std::make_unique<ModularEager>(order); };
}

const Register eager("modular-eager", in({}));
const Register prio("modular-prio", in({.by_priority = true}));

}  // namespace

}  // namespace tasksim
