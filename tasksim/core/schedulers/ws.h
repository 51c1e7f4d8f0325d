// Work stealing: a queue per worker, from which idle workers also take (schedulers/ws.py).
#pragma once

#include "queues.h"
#include "victims.h"

namespace tasksim {

class WorkStealing : public Scheduler {
 public:
  void attach(View &given) override {
    Scheduler::attach(given);
    workers_ = given.workers();
    for (int worker = 0; worker < workers_; ++worker)
      queues_.push_back(PriorityQueue::of_worker(given, worker));
    waiting_.assign(workers_, 0);
    busy_.assign(workers_, false);
    victims_ = std::make_unique<Victims>(given.platform);
    next_victim_.assign(workers_, 0);
    next_owner_ = 1 % workers_;
  }

  // Per worker, whether it is busy and has tasks in its queue.
  const std::vector<bool> &robbable() const { return victims_->among; }

  void push(int task) override {
    put(task, owner_of(task));
    view->wake_all(task);
  }

  // Puts *task* on the queue of *owner*, and wakes no worker.
  void put(int task, int owner) {
    queues_[owner].push(task);
    ++waiting_[owner];
    if (busy_[owner] && !robbable()[owner]) victims_->add(owner);
  }

  int pop(int worker) override {
    const int task = take_own(worker);
    return task == NONE && !victims_->none() ? stolen(worker) : task;
  }

  // Takes a task of *worker*'s own queue; without one, the worker is not busy any more.
  int take_own(int worker) {
    if (waiting_[worker]) {
      const int task = queues_[worker].pop(worker);
      if (task != NONE) {
        took(worker);
        busy_[worker] = true;
        if (waiting_[worker] && !robbable()[worker]) victims_->add(worker);
        return task;
      }
    }
    busy_[worker] = false;
    if (robbable()[worker]) victims_->discard(worker);
    return NONE;
  }

  // Takes the newest task of *victim* that *thief* can run, which is then busy.
  int steal(int victim, int thief) {
    const int task = queues_[victim].pop_newest(thief);
    if (task != NONE) {
      took(victim);
      busy_[thief] = true;
      if (waiting_[thief]) victims_->add(thief);
    }
    return task;
  }

  // The owner of the queue for *task*.
  virtual int owner_of(int task) {
    if (view->pusher != NONE && view->can_run(task, view->pusher)) return view->pusher;
    int owner = next_owner_;
    while (!view->can_run(task, owner)) owner = (owner + 1) % workers_;  // some worker can
    next_owner_ = (owner + 1) % workers_;
    return owner;
  }

 protected:
  int waiting(int worker) const { return waiting_[worker]; }

  // The newest task of the first victim that has one for *thief*.
  virtual int stolen(int thief) {
    int task = NONE;
    victims_->from_number(next_victim_[thief],
                          [&](int victim) { return (task = rob(victim, thief)) != NONE; });
    return task;
  }

  int rob(int victim, int thief) {
    const int task = steal(victim, thief);
    if (task != NONE) next_victim_[thief] = (victim + 1) % workers_;
    return task;
  }

  std::unique_ptr<Victims> victims_;

 private:
  // Notes that a task has left the queue of *owner*.
  void took(int owner) {
    --waiting_[owner];
    if (robbable()[owner] && !waiting_[owner]) victims_->discard(owner);
  }

  int workers_ = 0;
  std::vector<PriorityQueue> queues_;
  std::vector<int> waiting_;
  std::vector<bool> busy_;
  std::vector<int> next_victim_;
  int next_owner_ = 0;
};

}  // namespace tasksim
