// The modular schedulers: StarPU's trees of components, flattened (schedulers/modular.py).
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "data_readiness.h"
#include "energy.h"
#include "line.h"
#include "scheduler.h"

namespace tasksim {

namespace {

// Queue of one worker, or the central one: by priority or not, data-aware or not.
class WorkerQueue {
 public:
  WorkerQueue(View &view, Order order, int memory = 0)
      : priority_(view.graph.priority),
        by_priority_(order.by_priority),
        where_(std::make_unique<ReadyFirst>(order.ready_first ? &view : nullptr, memory)) {}

  std::size_t size() const { return size_; }

  void push(int task) {
    level(task).push_back(task);
    ++size_;
  }

  // Puts *task*, which was popped, at the front of its level.
  void give_back(int task) {
    level(task).push_front(task);
    ++size_;
  }

  // The oldest task of the highest level, which stays; or NONE.
  int first() const { return size_ ? levels_.begin()->second.front() : NONE; }

  // Removes and returns the next task; or NONE.
  int pop() {
    if (!size_) return NONE;
    const auto highest = levels_.begin();
    const int task = highest->second.pop();
    if (!highest->second.size()) levels_.erase(highest);
    --size_;
    return task;
  }

 private:
  ReadyTasks &level(int task) {
    const i64 key = by_priority_ ? -static_cast<i64>(priority_[task]) : 0;
    return levels_.try_emplace(key, *where_).first->second;
  }

  std::span<const std::int32_t> priority_;
  bool by_priority_;
  std::unique_ptr<ReadyFirst> where_;  // at a fixed address: levels refer to it
  std::map<i64, ReadyTasks> levels_;   // by priority negated: the most urgent first
  std::size_t size_ = 0;
};

// Expected work of one worker, in seconds: handed out to it, and waiting in the queue above it.
class Expected {
 public:
  // The expected end of all work of the worker.
  double end(double now) {
    if (now > start_) start_ = now;
    return start_ + length_ + queued;
  }

  // The same, without moving the start.
  double seen_end(double now) const { return std::max(start_, now) + length_ + queued; }

  // The worker asks for a task: it counts as free.
  void asked(double now) {
    start_ = now;
    length_ = pipeline_ = 0.0;
  }

  // Adds a task to the queue, with the part of *transfer* that nothing hides.
  double queue(double now, double duration, double transfer) {
    transfer = std::max(0.0, now + transfer - end(now));
    queued += duration + transfer;
    return transfer;
  }

  // Removes a task from the queue, in which *left* others stay.
  void unqueue(double duration, double transfer, std::size_t left) {
    const double rest = std::max(0.0, queued - duration);
    queued = left ? std::max(0.0, rest - transfer) : 0.0;
  }

  // Hands out a task and starts its transfer; returns the part that nothing hides.
  double take(double now, double duration, double transfer) {
    const double end = start_ + length_;
    if (now > start_) start_ = now;
    transfer = std::max(0.0, now + transfer - end);
    length_ += duration;
    pipeline_ += transfer;
    start_ = now + pipeline_;
    return transfer;
  }

  // Notes that the data have arrived and the task starts.
  void begin(double now, double duration, double transfer) {
    length_ -= duration;
    pipeline_ += duration - transfer;
    start_ = now + pipeline_;
  }

  // Notes the end of the task.
  void finish(double now, double duration) {
    pipeline_ -= duration;
    start_ = std::max(start_, now + pipeline_);
  }

  double queued = 0.0;  // work that waits above the worker

 private:
  double start_ = 0.0;     // end of the tasks handed out
  double pipeline_ = 0.0;  // their duration
  double length_ = 0.0;    // duration of the task that was taken and has not started
};

// modular-dmda and its relatives: expected ends, decided at push.
class ModularDmda : public Scheduler {
 public:
  ModularDmda(const Options &options, Order order)
      : options_(options),
        alpha_(options.number("alpha")),
        beta_(options.number("beta")),
        order_(order) {}

  void attach(View &given) override;
  void push(int task) override { place(task); }
  int pop(int worker) override;
  void started(int task, int worker) override;
  void finished(int task, int worker) override;

 protected:
  // Decides for *task* and queues it; returns whether the queue had room.
  bool place(int task);

  // Notes that a task has left the queue of *worker* and is not yet in its hands.
  virtual void left(int /*worker*/) {}
  virtual bool full(int /*worker*/, double /*duration*/) const { return false; }

  std::vector<WorkerQueue> queues_;
  std::vector<Expected> expected_;

 private:
  // A class's best worker: the end of the task there, its transfer, its duration, the worker's
  // number.
  struct Candidate {
    double end, transfer, duration;
    int worker;
    double charge;  // cost of its energy
  };
  struct Earliest {
    double start;
    int worker;
  };

  int pull(int worker);
  double transfer(int task, int memory);
  bool find_ends(int task, double now);
  Earliest earliest(std::span<const int> workers, double now, double arrival);
  Candidate best(double now);
  double fitness(const Candidate &entry, double first, double latest) const;
  std::vector<Estimate> estimates(int task, double now) const;
  void place_unknown(int task);

  Options options_;
  double alpha_, beta_;
  std::optional<EnergyWeights> energy_;
  Order order_;
  bool several_ = false;                       // workers have different memories
  std::vector<Line<int>> own_;                 // per worker, tasks of unknown duration
  std::vector<i64> gone_;                      // number of such tasks so far
  std::vector<double> durations_, transfers_;  // per task
  std::vector<Candidate> ends_;                // for the current task
};

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
  if (auto *log = view->decisions.get()) {
    log->decided(task, worker, estimates(task, now));
    log->queued(task, worker, order_.by_priority ? -i64{view->graph.priority[task]} : 0);
  }
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

// Makes an entry per able class; returns whether the durations are known.
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

// The earliest start of a task whose data come at *arrival*, and the first of *workers* for it.
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
    const double found = fitness(entry, first, latest);
    if (found < least || (found == least && entry.worker < lowest)) {
      best = entry;
      least = found;
      lowest = entry.worker;
    }
  }
  return best;
}

double ModularDmda::fitness(const Candidate &entry, double first, double latest) const {
  const double fitness = alpha_ * (entry.end - first) + beta_ * entry.transfer + entry.charge;
  return entry.end > latest ? fitness + energy_->idle * (entry.end - latest) : fitness;
}

// The terms of *task* on each able worker, for the record of decisions.
std::vector<Estimate> ModularDmda::estimates(int task, double now) const {
  const double idle = energy_->idle;
  double first = ends_[0].end, latest = idle != 0.0 ? -INF : INF;
  for (const Candidate &entry : ends_) first = std::min(first, entry.end);
  if (idle != 0.0)
    for (const Expected &each : expected_) latest = std::max(latest, each.seen_end(now));
  std::vector<Estimate> found;
  auto entry = ends_.begin();
  for (u64 able = view->able[task]; able; able &= able - 1, ++entry)
    for (const int worker : view->platform.class_workers[std::countr_zero(able)]) {
      const double free = expected_[worker].seen_end(now);
      const double end = std::max(free, now + entry->transfer) + entry->duration;
      const double energy = entry->charge + idle * std::max(0.0, end - latest);
      const double cost = fitness({end, entry->transfer, entry->duration, worker, entry->charge},
                                  first, latest);
      found.push_back({worker, free, entry->transfer, entry->duration, energy, end, cost});
    }
  return found;
}

void ModularDmda::place_unknown(int task) {
  int least = NONE;
  for (int worker = 0; worker < view->workers(); ++worker)
    if (view->can_run(task, worker) && (least == NONE || gone_[worker] < gone_[least]))
      least = worker;
  ++gone_[least];
  own_[least].push_back(task);
  if (auto *log = view->decisions.get()) {
    log->decided(task, least);
    log->queued_at(task, least, static_cast<i64>(own_[least].size()) - 1);
  }
  view->wake(least);
}

// modular-eager and modular-prio: one central queue, all workers woken by every push.
class ModularEager : public Scheduler {
 public:
  explicit ModularEager(Order order) : order_(order) {}

  void attach(View &given) override {
    Scheduler::attach(given);
    queue_ = std::make_unique<WorkerQueue>(given, order_);
  }

  void push(int task) override {
    queue_->push(task);
    if (auto *log = view->decisions.get())
      log->queued(task, log->shared(), order_.by_priority ? -i64{view->graph.priority[task]} : 0);
    for (int worker = 0; worker < view->workers(); ++worker) view->wake(worker);
  }

  int pop(int worker) override {
    const int task = queue_->first();
    if (task == NONE) return NONE;
    if (!view->can_run(task, worker)) {
      view->wake_any(task);
      return NONE;
    }
    return queue_->pop();
  }

 private:
  Order order_;
  std::unique_ptr<WorkerQueue> queue_;
};

// modular-heft: bounded queues below a sorted one; tasks are bound to a worker late.
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
    if (auto *log = view->decisions.get())
      log->queued(task, log->shared(), -i64{view->graph.priority[task]});
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

  double tasks_, seconds_;  // tasks and expected work that fill a worker's queue
  std::unique_ptr<WorkerQueue> above_;
};

Maker eager_in(Order order) {
  return [order](const Options &) { return std::make_unique<ModularEager>(order); };
}

const Register modular_eager("modular-eager", eager_in({}));
const Register modular_prio("modular-prio", eager_in({.by_priority = true}));

Maker dmda_in(Order order) {
  return [order](const Options &options) { return std::make_unique<ModularDmda>(options, order); };
}

const Register modular_dmda("modular-dmda", dmda_in({}));
const Register modular_dmdap("modular-dmdap", dmda_in({.by_priority = true}));
const Register modular_dmdar("modular-dmdar", dmda_in({.ready_first = true}));
const Register modular_dmdas("modular-dmdas", dmda_in({.by_priority = true, .ready_first = true}));

const Register modular_heft("modular-heft", [](const Options &options) {
  return std::make_unique<ModularHeft>(options);
});

}  // namespace

}  // namespace tasksim
