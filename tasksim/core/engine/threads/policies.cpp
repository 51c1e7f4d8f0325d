#include "policies.h"

#include "../../schedulers/central.h"
#include "../../schedulers/ws.h"

namespace tasksim::threads {

namespace {

// One queue under one lock (eager_central_policy.c); a push wakes one sleeping worker.
class CentralPolicy : public Policy {
 public:
  CentralPolicy(CentralScheduler &scheduler, const NodeView &view, Office &office)
      : scheduler_(scheduler), view_(view), office_(office) {}

  // Queues *task*, and wakes workers up to the first that slept and was not woken yet.
  Steps<> push(int task, Worker *me) override {
    co_await locked(me);
    scheduler_.put(task);
    co_await mutex_;
    for (Worker &worker : office_.workers) {
      if (!view_.can_run(task, worker.number)) continue;
      const bool fresh = co_await office_.tell(worker, me);
      if (fresh) break;
    }
  }

  // The first task; without a lock if there is none.
  Steps<int> pop(Worker &me) override {
    if (!scheduler_.waiting()) co_return NONE;
    co_await locked(&me);
    const int task = scheduler_.pop(me.number);
    co_await mutex_;
    co_return task;
  }

 private:
  Steps<> locked(Worker *me) {
    if (!me) {
      co_await mutex_;
      co_return;
    }
    co_await me->relax();
    co_await mutex_;
    co_await me->tense();
  }

  CentralScheduler &scheduler_;
  const NodeView &view_;
  Office &office_;
  Mutex mutex_;
};

// A queue per worker, under its own lock (work_stealing_policy.c); a push wakes all. A thief that
// finds its victim's lock taken comes back after *patience* ticks. Its search continues after the
// last victim, whether that had a task or not.
class StealingPolicy : public Policy {
 public:
  StealingPolicy(WorkStealing &scheduler, NodeView &view, Office &office, i64 patience)
      : scheduler_(scheduler),
        view_(view),
        office_(office),
        patience_(patience),
        next_(office.workers.size(), 0) {}

  // Puts *task* on a queue, and wakes all workers.
  Steps<> push(int task, Worker *me) override {
    view_.pusher = me ? me->number : NONE;
    const int number = scheduler_.owner_of(task);
    Worker &owner = office_.workers[number];
    const bool others = &owner != me && me;
    if (others) co_await me->relax();
    co_await owner.mutex;
    while (&owner != me && !owner.relaxed) co_await owner.until_relaxed;
    scheduler_.put(task, number);
    co_await owner.mutex;
    if (others) co_await me->tense();
    for (Worker &worker : office_.workers) co_await office_.tell(worker, me);
  }

  // A task of its own, or one of the next busy worker that has some.
  Steps<int> pop(Worker &me) override {
    int task = scheduler_.take_own(me.number);
    if (task != NONE) co_return task;
    co_await me.relax();
    const int number = victim_of(me.number);
    co_await me.tense();
    if (number == NONE) co_return NONE;
    Worker &victim = office_.workers[number];
    const bool got = co_await try_lock(victim, me);
    if (!got) {
      co_await Wait{patience_};
      co_await me.mutex;
      co_await office_.tell_locked(me);
      co_await me.mutex;
      co_return NONE;
    }
    task = scheduler_.steal(number, me.number);
    co_await victim.mutex;
    if (&victim != &me) co_await me.tense();
    if (task == NONE && me.told) {
      task = scheduler_.take_own(me.number);
      me.told = me.told && task == NONE;
    }
    co_return task;
  }

 private:
  // Tries to lock *victim*, after its own state; returns whether it is locked.
  Steps<bool> try_lock(Worker &victim, Worker &me) {
    const Actor *actor = &me.actor();
    co_await TryLock(me.mutex);
    if (me.mutex.owner != actor) co_return false;
    if (&victim == &me) co_return true;
    co_await TryLock(victim.mutex);
    bool got = victim.mutex.owner == actor;
    if (got && !victim.relaxed) {
      got = false;
      co_await victim.mutex;
    }
    if (got) {
      ++me.relaxed;
      co_await me.condition;
    }
    co_await me.mutex;
    co_return got;
  }

  int victim_of(int thief) {
    const std::vector<bool> &robbable = scheduler_.robbable();
    const int count = static_cast<int>(robbable.size()), first = next_[thief];
    int worker = first;
    while (!robbable[worker]) {
      worker = (worker + 1) % count;
      if (worker == first) {
        next_[thief] = (first + 1) % count;
        return NONE;
      }
    }
    next_[thief] = (worker + 1) % count;
    return worker;
  }

  WorkStealing &scheduler_;
  NodeView &view_;
  Office &office_;
  const i64 patience_;
  std::vector<int> next_;  // per worker
};

}  // namespace

std::unique_ptr<Policy> policy_of(Scheduler &scheduler, NodeView &view, Office &office,
                                  i64 patience) {
  if (auto *stealing = dynamic_cast<WorkStealing *>(&scheduler))
    return std::make_unique<StealingPolicy>(*stealing, view, office, patience);
  return std::make_unique<CentralPolicy>(dynamic_cast<CentralScheduler &>(scheduler), view,
                                         office);
}

}  // namespace tasksim::threads
