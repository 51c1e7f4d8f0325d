#include "../data/readiness.h"
#include "node.h"

namespace tasksim {

NodeView::NodeView(Node &node, const Graph &graph, const Platform &platform)
    : View(graph, platform), sleepers(platform), node_(node) {
  for (int worker = 0; worker < platform.workers; ++worker) {
    if (platform.pipeline[worker])
      driven_.push_back(worker);
    else
      cores_ |= u64{1} << platform.class_of[worker];
  }
}

double NodeView::now() const { return static_cast<double>(node_.clock.now) * 1e-9; }

void NodeView::wake(int worker) {
  Routine &routine = *routines[worker];
  if (!platform.pipeline[worker])
    sleepers.asleep[worker] = false;
  else if (sleepers.asleep[worker])
    routine.notified = true;
  routine.wake();
}

void NodeView::send_for_sleeper() const {
  const int worker = sleepers.likely();
  if (worker >= 0) __builtin_prefetch(routines[worker], 1);
}

void NodeView::send_for_sleepers_frame() const {
  const int worker = sleepers.likely();
  if (worker >= 0) routines[worker]->send_for_frame();
}

// With devices, as in StarPU: the first sleeping driver that was not notified yet is woken alone.
// Without such a driver, all cores are woken, and race for the task.
void NodeView::wake_any_of(u64 classes) {
  if (driven_.empty()) {
    const int worker = sleepers.first(classes);
    if (worker >= 0) wake(worker);
    return;
  }
  for (const int worker : driven_) {
    if (!(classes >> platform.class_of[worker] & 1)) continue;
    Routine &routine = node_.drivers[worker]->routine;
    const bool asleep = sleepers.asleep[worker];
    const bool alone = asleep && !routine.notified && worker != pusher;
    routine.notified = routine.notified || asleep;
    routine.wake();
    if (alone) return;
  }
  for (const int worker : sleepers.all(classes & cores_)) wake(worker);
}

void NodeView::wake_all_of(u64 classes) {
  for (const int worker : sleepers.all(classes)) wake(worker);
}

double NodeView::transfer_estimate(int task, int memory) {
  double total = 0.0;
  if (!node_.several) return total;
  const Copies &copies = node_.copies;
  for (const Need &need : graph.needs[task]) {
    if (!need.reads) continue;
    const auto &[valid, places, coming, size] = copies.of[need.handle];
    if (!((valid | coming) >> memory & 1)) total += node_.estimates.best_s(valid, memory, size);
  }
  return total;
}

Lacks NodeView::unready(int task, int memory) {
  Lacks lacks;
  if (!node_.several) return lacks;
  const Copies &copies = node_.copies;
  for (const Need &need : graph.needs[task]) {
    const auto &[valid, places, coming, size] = copies.of[need.handle];
    if (need.reads && !(valid >> memory & 1)) {
      lacks.missing += size;
      if (!(coming >> memory & 1)) lacks.absent += size;
    }
    if (!(places >> memory & 1)) lacks.unplaced += size;
  }
  return lacks;
}

bool NodeView::holds(int handle, int memory) {
  if (!node_.several) return true;
  const Whereabouts &where = node_.copies.of[handle];
  return (where.valid | where.coming) >> memory & 1;
}

std::unique_ptr<Readiness> NodeView::readiness(int memory) {
  if (!node_.several) return nullptr;
  return std::make_unique<DataReadiness>(node_.copies, graph, memory);
}

double NodeView::copy_estimate(double bytes, int source, int target) {
  return node_.estimates.copy_s(bytes, source, target);
}

void NodeView::prefetch(int task, int memory) {
  if (!node_.several) return;
  const int priority = node_.question.uses_priorities ? graph.priority[task] : 0;
  node_.mover.prefetch(graph.needs[task], memory, task, priority);
}

void NodeView::soon(int task) {
  __builtin_prefetch(&node_.ledger.of[task], 1);
  __builtin_prefetch(&graph.successor_ptr[task]);
}

void NodeView::prefetch_handle(int handle, int memory) {
  if (node_.is_written(handle)) return;
  const Whereabouts &where = node_.copies.of[handle];
  if ((where.valid | where.coming) >> memory & 1) return;
  const Need need{handle, true, false};
  node_.mover.prefetch({&need, 1}, memory, NOBODY, 0);
}
}  // namespace tasksim
