#include "dm.h"

#include <cmath>

namespace tasksim {

void DequeModel::attach(View &given) {
  Scheduler::attach(given);
  const Platform &platform = given.platform;
  for (int worker = 0; worker < given.workers(); ++worker) queues_.push_back(new_queue(worker));
  for (auto *column : {&exp_start_, &exp_len_, &pipeline_len_})
    column->assign(given.workers(), 0.0);
  unstarted_.assign(given.workers(), 0);
  held_.assign(given.workers(), 0);
  predicted_.assign(given.graph.tasks, {});
  for (int group = 0; group < platform.classes; ++group) {
    const double *estimates = given.estimates + static_cast<i64>(group) * given.graph.tasks;
    const auto &workers = platform.class_workers[group];
    groups_.push_back({new_ends(workers), estimates, platform.class_memory[group], workers});
  }
}

Choice DequeModel::choose(int task) {
  const double now = view->now();
  Choice best;
  double best_end = 0.0;
  bool known = true;
  for_each_group(task, [&](const WorkerGroup &group) {
    const double length = group.estimates[task];
    known = length > 0.0;
    if (!known) return false;
    auto [end, worker] = group.ends->earliest(now);
    end += length;
    if (best.worker < 0 || end < best_end || (end == best_end && worker < best.worker)) {
      best = {worker, length, 0.0};
      best_end = end;
    }
    return true;
  });
  if (!known) return greedy(task);
  if (view->decisions) view->decisions->decided(task, best.worker, estimates(task));
  return best;
}

// The terms of *task* on each able worker, for the record of decisions.
std::vector<Estimate> DequeModel::estimates(int task) const {
  std::vector<Estimate> found;
  for_each_group(task, [&](const WorkerGroup &group) {
    const double length = group.estimates[task];
    for (const int worker : group.workers) {
      const double free = group.ends->end_of(worker, view->now());
      found.push_back({.worker = worker, .free = free, .duration = length, .end = free + length});
    }
    return true;
  });
  return found;
}

void DequeModel::commit(int task, const Choice &choice) {
  const int worker = choice.worker;
  const double now = view->now();
  if (exp_start_[worker] < now) exp_start_[worker] = now;
  const double transfer = now + choice.transfer - (exp_start_[worker] + exp_len_[worker]);
  if (transfer > 0.0) {
    predicted_[task].transfer = transfer;
    exp_len_[worker] += transfer;
  }
  predicted_[task].length = choice.length;
  exp_len_[worker] += choice.length;
  ++unstarted_[worker];
  changed(worker);
  if (prefetch_) view->prefetch(task, view->platform.memory_of[worker]);
  queues_[worker]->append(task);
  if (auto *log = view->decisions.get())
    log->queued(task, worker, by_priority_ ? -i64{view->graph.priority[task]} : 0);
  view->wake(worker);
}

int DequeModel::pop(int worker) {
  TaskList &queue = *queues_[worker];
  if (!queue.size()) return NONE;
  const int task = queue.pop();
  if (queue.size()) send_for(queue.likely());
  handed_out(task, worker);
  return task;
}

void DequeModel::started(int task, int worker) {
  const auto [length, transfer] = predicted_[task];
  // An empty sum is 0, without a rounding error.
  if (--unstarted_[worker])
    exp_len_[worker] -= length;
  else
    exp_len_[worker] = 0.0;
  pipeline_len_[worker] = pipeline_len_[worker] - transfer + length;
  exp_start_[worker] = view->now() + pipeline_len_[worker];
  changed(worker);
}

void DequeModel::finished(int task, int worker) {
  if (--held_[worker])
    pipeline_len_[worker] -= predicted_[task].length;
  else
    pipeline_len_[worker] = 0.0;
  const double start = view->now() + pipeline_len_[worker];
  if (exp_start_[worker] < start) {
    exp_start_[worker] = start;
    changed(worker);
  }
}

// In large graphs, the data of a task have left the processor's caches since its push.
void DequeModel::send_for(int task) const {
  if (task == NONE) return;
  __builtin_prefetch(&predicted_[task], 1);
  view->soon(task);
}

std::unique_ptr<TaskList> DequeModel::new_queue(int /*worker*/) {
  return std::make_unique<PushOrder>();
}

std::unique_ptr<Ends> DequeModel::new_ends(std::span<const int> workers) {
  return expected_ends(workers, exp_start_, exp_len_);
}

i64 DequeModel::ahead(int /*worker*/, int /*task*/, i64 queued) const { return queued; }

void DequeModel::handed_out(int task, int worker) {
  ++held_[worker];
  const double transfer = predicted_[task].transfer;
  exp_len_[worker] -= transfer;
  pipeline_len_[worker] += transfer;
  exp_start_[worker] = view->now() + pipeline_len_[worker];
  changed(worker);
}

// The able worker with the least load, without *task*.
Choice DequeModel::greedy(int task) const {
  bool unmeasured = false;
  for_each_group(task, [&](const WorkerGroup &group) {
    unmeasured = std::isnan(group.estimates[task]);
    return !unmeasured;
  });
  Choice best;
  double least = 0.0;
  for_each_group(task, [&](const WorkerGroup &group) {
    if (unmeasured && !std::isnan(group.estimates[task])) return true;
    for (const int worker : group.workers) {
      const double found = load(worker, task);
      if (best.worker < 0 || found < least || (found == least && worker < best.worker)) {
        best.worker = worker;
        least = found;
      }
    }
    return true;
  });
  if (view->decisions) view->decisions->decided(task, best.worker);
  return best;
}

// Number of tasks that wait for *worker* or run there, relative to its speed. A queued task counts
// twice.
double DequeModel::load(int worker, int task) const {
  const i64 queued = static_cast<i64>(queues_[worker]->size());
  const i64 tasks = ahead(worker, task, queued) + queued + held_[worker];
  return static_cast<double>(tasks) / view->platform.nominal_speed[worker];
}

namespace {

const Register dm("dm",
                  [](const Options &options) { return std::make_unique<DequeModel>(options); });

}  // namespace

}  // namespace tasksim
