// The end of a task on its node: its releases, with their data prefetched (engine/machine/node.py).
#include <algorithm>

#include "../threads/threads.h"
#include "node.h"

namespace tasksim {

// In large graphs, the data of a task are far from the processor: the data for the next step of its
// life are prefetched one step before.

void Node::send_for_push(int task) const {
  __builtin_prefetch(&ledger.of[task], 1);
  __builtin_prefetch(&graph.needs.ptr[task]);
  __builtin_prefetch(&view.able[task]);
  const int groups = task < own_tasks ? std::min(platform.classes, MAX_PREFETCHED_CLASSES) : 0;
  for (int group = 0; group < groups; ++group)
    __builtin_prefetch(view.estimates + i64{group} * own_tasks + task);
}

void Node::send_for_end(int task) const {
  __builtin_prefetch(&ledger.of[task], 1);
  __builtin_prefetch(&graph.successor_ptr[task]);
}

void Node::send_for_successors(int task) const {
  __builtin_prefetch(graph.successors_of(task).data());
}

void Node::send_for_counts(int task) const {
  for (const int successor : graph.successors_of(task)) release.send_for(successor);
}

void Driver::send_for(int turns) const {
  if (task == NONE) return;
  if (turns == 2) node.send_for_end(task);
  if (turns == 1) node.send_for_successors(task);
  if (turns == 0) node.send_for_counts(task);
}

// The tasks that the end of *task* releases, each after those before have been processed: if a push
// takes time, another task may release it meanwhile (Release.complete_in_turn).
class Node::Released {
 public:
  Released(Node &node, int task)
      : node_(node), successors_(node.graph.successors_of(task)), hints_(node.hinted(task)) {
    if (!node.graph.exclusive.empty()) granted_ = node.release.give_back(task);
    for (const int successor : successors_)
      if (node.release.lacks_one(successor)) node.send_for_push(successor);
    node.view.send_for_sleeper();
  }

  static constexpr int PAUSE = -2;  // no task: a hint comes before the next task

  // The next task; NONE: none is left.
  int next() {
    if (granted_place_ < granted_.size()) return granted_[granted_place_++];
    while (place_ < successors_.size()) {
      if (hint_ < hints_.size() && node_.said_before(hints_[hint_], successors_[place_])) return PAUSE;
      const int successor = successors_[place_++];
      if (node_.release.count_down(successor) &&
          (node_.graph.exclusive.empty() || node_.release.grant(successor))) {
        node_.view.send_for_sleepers_frame();
        return successor;
      }
    }
    return hint_ < hints_.size() ? PAUSE : NONE;
  }

  // The hint of a pause.
  int hinted() { return hints_[hint_++]; }

 private:
  Node &node_;
  std::vector<int> granted_;  // tasks that waited for the task's commutative data
  std::size_t granted_place_ = 0;
  std::span<const std::int32_t> successors_;
  std::size_t place_ = 0;
  std::vector<int> hints_;  // hints that wait for the task, in order
  std::size_t hint_ = 0;
};

Steps<> Node::finish(Driver &driver, int task) {
  const int worker = driver.worker;
  Routine &routine = driver.routine;
  ledger.finish(task);
  if (locks.any()) co_await unlocked(task);
  if (several) leave(graph.needs[task], driver);
  if (question.hears_finished) scheduler.finished(task, worker);
  hear_end(task);
  Released released(*this, task);
  for (int successor; (successor = released.next()) != NONE;) {
    if (successor == Released::PAUSE) {
      co_await hear_hint(released.hinted());
      continue;
    }
    if (blind || successor >= own_tasks) {
      co_await push(successor, routine, worker, task);
      continue;
    }
    if (overheads.push) {
      routine.phase = PUSH_PHASE;
      co_await Wait{overheads.push};
    }
    if (locks.any() && question.looks_at_data) co_await unlocked(successor);
    ledger.release(successor, now(), task);
    view.pusher = worker;
    scheduler.push(successor);
  }
}

// The same, if it cannot wait for anything: without a coroutine. A push may wake a worker whose
// task ends at this instant, too, and which enters here meanwhile.
void Node::finish_at_once(int worker, int task) {
  ledger.finish(task);
  if (question.hears_finished) scheduler.finished(task, worker);
  const auto successors = graph.successors_of(task);
  for (const int successor : successors)
    if (release.lacks_one(successor)) send_for_push(successor);
  view.send_for_sleeper();
  for (const int successor : successors) {
    if (!release.count_down(successor)) continue;
    ledger.release(successor, now(), task);
    view.pusher = worker;
    scheduler.push(successor);
  }
}

// Releases the tasks that waited for the communication *task*; the thread *routine* pushes them.
Steps<> Node::finish_communication(int task, Routine &routine) {
  if (threads) {
    co_await threads->finish_communication(task);
    co_return;
  }
  ledger.finish(task);
  if (several) mover.release(graph.needs[task], MAIN_MEMORY);
  Released released(*this, task);
  for (int successor; (successor = released.next()) != NONE;) {
    if (successor == Released::PAUSE)
      co_await hear_hint(released.hinted());
    else
      co_await push(successor, routine, NONE, task);
  }
}

}  // namespace tasksim
