#include "modular_dmda.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tasksim {

void ModularDmda::attach(View &given) {
  Scheduler::attach(given);
  energy_.emplace(options_, given.platform, given.graph);
  const auto memories = given.platform.memory_of;
  several_ = std::ranges::any_of(memories, [&](int memory) { return memory != memories[0]; });
  for (const int memory : memories) queues_.emplace_back(given, order_, memory);
  expected_.resize(given.workers());
  own_.resize(given.workers());
  gone_.assign(given.workers(), 0);
  durations_.assign(given.graph.tasks, 0.0);
  transfers_.assign(given.graph.tasks, 0.0);
}

int ModularDmda::pop(int worker) {
  auto &own = own_[worker];
  return own.empty() ? pull(worker) : own.pop_front();
}

void ModularDmda::started(int task, int worker) {
  expected_[worker].begin(view->now(), durations_[task], transfers_[task]);
}

void ModularDmda::finished(int task, int worker) {
  expected_[worker].finish(view->now(), durations_[task]);
}

bool ModularDmda::place(int task) {
  const double now = view->now();
  if (!find_ends(task, now)) {
    place_unknown(task);
    return true;
  }
  const Candidate chosen = best(now);
  const auto [transfer, duration, worker] = std::tuple(chosen.transfer, chosen.duration, chosen.worker);
  if (full(worker, duration)) return false;
  durations_[task] = duration;
  transfers_[task] = expected_[worker].queue(now, duration, transfer);
  queues_[worker].push(task);
  if (several_) view->prefetch(task, view->platform.memory_of[worker]);
  view->wake(worker);
  return true;
}

int ModularDmda::pull(int worker) {
  const double now = view->now();
  Expected &expected = expected_[worker];
  expected.asked(now);
  const int task = queues_[worker].pop();
  if (task == NONE) return NONE;
  expected.unqueue(durations_[task], transfers_[task], queues_[worker].size());
  left(worker);
  transfers_[task] =
      expected.take(now, durations_[task], transfer(task, view->platform.memory_of[worker]));
  return task;
}

double ModularDmda::transfer(int task, int memory) {
  return several_ ? view->transfer_estimate(task, memory) : 0.0;
}

// Makes an entry per able class; whether the durations are known.
bool ModularDmda::find_ends(int task, double now) {
  ends_.clear();
  double known = 0.0;
  for (u64 able = view->able[task]; able; able &= able - 1) {
    const int group = std::countr_zero(able);
    const double duration = view->estimate_of_class(task, group);
    if (std::isnan(duration)) return false;
    known += duration;
    const double moving = transfer(task, view->platform.class_memory[group]);
    const auto [start, worker] = earliest(view->platform.class_workers[group], now, now + moving);
    const double charge = energy_->charge(group, view->graph.kernel[task], duration);
    ends_.push_back({start + duration, moving, duration, worker, charge});
  }
  return known != 0.0;
}

// When one of *workers* can start what arrives at *arrival*, and which one first.
ModularDmda::Earliest ModularDmda::earliest(std::span<const int> workers, double now,
                                            double arrival) {
  Earliest first{INF, NONE};
  for (const int worker : workers) {
    const double free = expected_[worker].end(now);
    if (free <= arrival) return {arrival, worker};
    if (free < first.start) first = {free, worker};
  }
  return first;
}

ModularDmda::Candidate ModularDmda::best(double now) {
  double first = ends_[0].end, latest = INF;
  for (const Candidate &entry : ends_) first = std::min(first, entry.end);
  if (energy_->idle != 0.0) {
    latest = -INF;
    for (Expected &expected : expected_) latest = std::max(latest, expected.end(now));
  }
  Candidate best = ends_[0];
  double least = INF;
  int lowest = NONE;
  for (const Candidate &entry : ends_) {
    double fitness = alpha_ * (entry.end - first) + beta_ * entry.transfer + entry.charge;
    if (entry.end > latest) fitness += energy_->idle * (entry.end - latest);
    if (fitness < least || (fitness == least && entry.worker < lowest)) {
      best = entry;
      least = fitness;
      lowest = entry.worker;
    }
  }
  return best;
}

void ModularDmda::place_unknown(int task) {
  int least = NONE;
  for (int worker = 0; worker < view->workers(); ++worker)
    if (view->can_run(task, worker) && (least == NONE || gone_[worker] < gone_[least]))
      least = worker;
  ++gone_[least];
  own_[least].push_back(task);
  view->wake(least);
}

namespace {

Maker in(Order order) {
  return [order](const Options &options) { return std::make_unique<ModularDmda>(options, order); };
}

const Register dmda("modular-dmda", in({}));
const Register dmdap("modular-dmdap", in({.by_priority = true}));
const Register dmdar("modular-dmdar", in({.ready_first = true}));
const Register dmdas("modular-dmdas", in({.by_priority = true, .ready_first = true}));

}  // namespace

}  // namespace tasksim
