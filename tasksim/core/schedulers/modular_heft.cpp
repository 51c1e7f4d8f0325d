// modular-heft: bounded queues below a sorted one; tasks are bound to a worker late
// (schedulers/modular_heft.py).
#include "modular_dmda.h"

namespace tasksim {

namespace {

class ModularHeft : public ModularDmda {
 public:
  explicit ModularHeft(const Options &options)
      : ModularDmda(options, {.by_priority = true, .ready_first = true}),
        tasks_(options.number("tasks")),
        seconds_(options.number("seconds")) {}

  void attach(View &given) override {
    ModularDmda::attach(given);
    above_ = std::make_unique<WorkerQueue>(given, Order{.by_priority = true});
  }

  void push(int task) override {
    above_->push(task);
    bind();
  }

  int pop(int worker) override {
    const int task = ModularDmda::pop(worker);
    if (task != NONE || !above_->size()) return task;
    bind();
    return ModularDmda::pop(worker);
  }

 protected:
  void left(int /*worker*/) override { bind(); }

  bool full(int worker, double duration) const override {
    const std::size_t queued = queues_[worker].size();
    if (!queued) return false;
    return static_cast<double>(queued) >= tasks_ ||
           expected_[worker].queued + duration >= seconds_;
  }

 private:
  // Decides for tasks of the central queue until one finds no room.
  void bind() {
    while (above_->size()) {
      const int task = above_->pop();
      if (!place(task)) {
        above_->give_back(task);
        return;
      }
    }
  }

  double tasks_, seconds_;  // so many, and so much expected work, fill the queue of a worker
  std::unique_ptr<WorkerQueue> above_;
};

const Register heft("modular-heft", [](const Options &options) {
  return std::make_unique<ModularHeft>(options);
});

}  // namespace

}  // namespace tasksim
