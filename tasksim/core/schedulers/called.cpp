#include "called.h"

#include "python.h"

namespace tasksim {

namespace {

class Called : public Scheduler {
 public:
  explicit Called(Shown &shown) : shown_(shown), own_(shown.given) {}

  void push(int task) override {
    heard([&] { Object::answer_of(own_.scheduler, own_.push, Object::number(task)); });
  }

  // Whether the pushing worker was chosen; Python keeps the rest of the choice.
  Choice choose(int task) override {
    Choice choice;
    heard([&] {
      const Object worker = Object::answer(own_.choose, Object::number(task));
      choice.worker = static_cast<int>(plain(worker.it(), view->workers()));
    });
    return choice;
  }

  void commit(int task, const Choice &) override {
    heard([&] { Object::answer(own_.commit, Object::number(task)); });
  }

  int pop(int worker) override {
    int task = NONE;
    heard([&] {
      const Object asks = Object::number(worker);
      const Object popped = Object::answer_of(own_.scheduler, own_.pop, asks);
      if (popped.it() == python.none) return;
      task = static_cast<int>(plain(popped.it(), view->graph.tasks));
      if (task >= 0) return;
      const Object number = Object::answer(own_.number, popped, asks);
      task = static_cast<int>(plain(number.it(), view->graph.tasks));
    });
    return task;
  }

  void started(int task, int worker) override {
    heard([&] { Object::answer(own_.started, Object::number(task), Object::number(worker)); });
  }

  void finished(int task, int worker) override {
    heard([&] { Object::answer(own_.finished, Object::number(task), Object::number(worker)); });
  }

 private:
  // Calls *body*, which calls Python.
  template <class Body>
  void heard(Body body) {
    bool raised = false;
    try {
      body();
    } catch (const Raised &) {
      raised = true;
    }
    shown_.rethrow();
    if (raised) throw Broken{TASKSIM_CALLBACK};
  }

  Shown &shown_;
  const tasksim_called &own_;
};

}  // namespace

std::unique_ptr<Scheduler> called_scheduler(Shown &shown) {
  return std::make_unique<Called>(shown);
}

}  // namespace tasksim
