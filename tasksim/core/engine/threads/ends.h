// Ends of tasks in threads: data released, successors pushed, hints followed.
#pragma once

#include "copying.h"
#include "policies.h"
#include "updates.h"

namespace tasksim::threads {

// The steps after the end of a task, and after each push. The numbers of simcalls were counted in
// StarPU 1.4.99, between the moments at which a thread reads or writes shared state.
class Ends {
 public:
  Ends(Node &node, Copying &copying, DataLocks &locks, Policy &policy)
      : node_(node), copying_(copying), locks_(locks), policy_(policy), updates_(node) {}

  // Releases the data of *task*, which *me* has run, and pushes the tasks that waited for it.
  Steps<> finish(int task, Worker &me) {
    const auto needs = node_.graph.needs[task];
    co_await Calls{2};
    co_await machines_;
    co_await machines_;
    co_await Calls{6};
    node_.ledger.finish(task);
    co_await copying_.touch_patiently(needs, &me);
    node_.leave(needs, me.driver);
    for (const int handle : updates_.of(task)) {
      const int waiter = updates_.give(handle);
      if (waiter != NONE) co_await push_it(waiter, task, &me);
    }
    co_await Calls{2 + 2 * static_cast<int>(needs.size())};
    node_.hear_end(task);
    co_await release_all(task, &me);
    co_await terminate(&me);
    co_await Calls{9};
  }

  // Releases the data of the communication *task*, and pushes the tasks that waited for it.
  Steps<> finish_communication(int task) {
    const auto needs = node_.graph.needs[task];
    node_.ledger.finish(task);
    co_await locks_.touch_all(needs);
    if (node_.several) node_.mover.release(needs, MAIN_MEMORY);
    co_await release_all(task, nullptr);
  }

  // Pushes *task*, which *me*'s task *released_by* released, or hands it over; null: by the main
  // thread or the communication thread.
  Steps<> push(int task, int released_by, Worker *me) {
    if (task >= node_.own_tasks) {
      co_await hand_over(task, released_by, me);
      co_return;
    }
    co_await copying_.touch_patiently(node_.graph.needs[task], me);
    if (updates_.take(task)) co_await push_it(task, released_by, me);
  }

 private:
  // Pushes *task*, which has all its data.
  Steps<> push_it(int task, int released_by, Worker *me) {
    co_await Wait{node_.overheads.push};
    node_.ledger.release(task, node_.now(), released_by);
    co_await count(ready_);
    if (!me) {
      co_await policy_.push(task, nullptr);
      co_return;
    }
    co_await me->mutex;
    me->enter();
    co_await me->mutex;
    co_await policy_.push(task, me);
    co_await me->mutex;
    co_await me->leave();
    co_await me->mutex;
  }

  // Pushes the tasks that waited for *task*, and follows the hints among them.
  Steps<> release_all(int task, Worker *me) {
    const std::vector<int> hints = node_.hinted(task);  // no more are added
    auto hint = hints.begin();
    for (const int successor : node_.graph.successors_of(task)) {
      for (; hint != hints.end() && node_.said_before(*hint, successor); ++hint)
        co_await hear(*hint, me);
      co_await Calls{2};
      const bool empty = updates_.pushes_empty(task, successor);
      if (empty) {
        co_await Wait{node_.overheads.push};
        co_await count(ready_);
      }
      if (node_.release.count_down(successor)) co_await push(successor, task, me);
      if (empty) co_await terminate(me);
    }
    for (; hint != hints.end(); ++hint) co_await hear(*hint, me);
  }

  // Hands the communication *task* over and requests its datum in main memory. The main thread need
  // not push a task that waits for nothing.
  Steps<> hand_over(int task, int released_by, Worker *me) {
    if (released_by >= 0) {
      co_await Wait{node_.overheads.push};
      co_await count(ready_);
    }
    co_await copying_.hand_over(node_, task, released_by, me);
  }

  // Follows *hint*, if it waited for this end alone: two empty tasks are pushed.
  Steps<> hear(int hint, Worker *me) {
    if (!node_.count_down_hint(hint)) co_return;
    const int handle = node_.graph.hint_handle[hint];
    co_await Wait{node_.overheads.push};
    co_await count(ready_);
    for (int time = 0; time < 2; ++time) {
      co_await Calls{4};
      co_await locks_.touch(handle);
    }
    co_await Calls{5};
    co_await count(submitted_);
    co_await Calls{5};
    co_await Wait{node_.overheads.push};
    co_await count(ready_);
    co_await Calls{11};
    co_await terminate(me);
    if (!node_.graph.hint_drops[hint]) co_await Wait{node_.overheads.submission};
    if (node_.holds(hint)) co_await copying_.will_not_be_used(handle, me);
    co_await Calls{13};
    co_await terminate(me);
  }

  // Adds one to the number of tasks.
  Steps<> count(Mutex &counter) {
    co_await counter;
    co_await Calls{1};
    co_await counter;
  }

  // Subtracts one from the number of tasks.
  Steps<> terminate(Worker *me) {
    for (Mutex *mutex : {&ready_, &submitted_, me ? &me->mutex : nullptr}) {
      if (!mutex) continue;
      co_await *mutex;
      co_await *mutex;
    }
  }

  Node &node_;
  Copying &copying_;
  DataLocks &locks_;
  Policy &policy_;
  Updates updates_;
  Mutex ready_, submitted_;  // counters of ready and submitted tasks
  Mutex machines_;
};

}  // namespace tasksim::threads
