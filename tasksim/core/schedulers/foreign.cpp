#include "foreign.h"

namespace tasksim {

namespace {

class Foreign : public Scheduler {
 public:
  explicit Foreign(const tasksim_callbacks &callbacks) : calls_(callbacks) {}

  void attach(View &given) override {
    Scheduler::attach(given);
    said(calls_.attach());
  }
  void push(int task) override { said(calls_.push(task)); }
  Choice choose(int task) override {
    return {static_cast<int>(said(calls_.choose(task))), 0.0, 0.0};
  }
  void commit(int task, const Choice &) override { said(calls_.commit(task)); }
  int pop(int worker) override { return static_cast<int>(said(calls_.pop(worker))); }
  void started(int task, int worker) override {
    if (calls_.started) said(calls_.started(task, worker));
  }
  void finished(int task, int worker) override {
    if (calls_.finished) said(calls_.finished(task, worker));
  }

 private:
  // The result of a callback; less than -1: it has failed, and the caller has the error.
  static i64 said(i64 answer) {
    if (answer < NONE) throw Broken{TASKSIM_CALLBACK};
    return answer;
  }

  tasksim_callbacks calls_;
};

}  // namespace

std::unique_ptr<Scheduler> foreign_scheduler(const tasksim_callbacks &callbacks) {
  return std::make_unique<Foreign>(callbacks);
}

}  // namespace tasksim
