// Drafts: schedules judged by an estimate of their makespan, hundreds of thousands a second.
// tasksim/optimization/drafts.py says what is estimated; walk.py does the same in Python.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <new>
#include <span>
#include <vector>

#include "../tasksim_core.h"

namespace tasksim::optimization {

namespace {

using i64 = int64_t;
using std::vector;

constexpr double NEVER = std::numeric_limits<double>::infinity();

// The same numbers as in walk.py, where the reasons are.
constexpr i64 MARK_PLACES = 32;
constexpr double WAIT_SHARE = 0.2, CRITICAL_SHARE = 0.7, ANYWHERE_SHARE = 0.25;
constexpr double LEAST_COST_S = 1e-12;

// SplitMix64 (G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators", 2014).
struct Random {
  uint64_t state;

  double unit() {
    uint64_t mixed = state += 0x9E3779B97F4A7C15u;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
    return static_cast<double>((mixed ^ (mixed >> 31)) >> 11) * 0x1p-53;
  }
  i64 below(i64 count) { return static_cast<i64>(unit() * static_cast<double>(count)); }
};

bool edges_are_legal(i64 tasks, const i64 *ptr, const i64 *ends, bool later) {
  if (ptr[0] != 0) return false;
  for (i64 task = 0; task < tasks; ++task) {
    if (ptr[task + 1] < ptr[task]) return false;
    for (i64 edge = ptr[task]; edge < ptr[task + 1]; ++edge) {
      if (ends[edge] < 0 || ends[edge] >= tasks || ends[edge] == task) return false;
      if ((ends[edge] > task) != later) return false;
    }
  }
  return true;
}

bool are_times(const double *values, i64 count) {
  return std::all_of(values, values + count, [](double value) {
    return value >= 0.0 && value < NEVER;
  });
}

bool legal(const tasksim_drafts &given) {
  if (given.tasks < 1 || given.workers < 1 || given.classes < 1 || given.memories < 1) return false;
  for (i64 worker = 0; worker < given.workers; ++worker) {
    const i64 kind = given.class_of[worker], memory = given.memory_of[worker];
    if (kind < 0 || kind >= given.classes || memory < 0 || memory >= given.memories) return false;
  }
  for (i64 task = 0; task < given.tasks; ++task) {
    bool able = false;
    for (i64 worker = 0; worker < given.workers; ++worker) {
      const double cost = given.cost[task * given.classes + given.class_of[worker]];
      if (!(cost >= 0.0)) return false;
      able = able || cost < NEVER;
    }
    if (!able) return false;
  }
  const i64 pairs = given.memories * given.memories, places = given.tasks * given.memories;
  return edges_are_legal(given.tasks, given.before_ptr, given.before, false) &&
         edges_are_legal(given.tasks, given.next_ptr, given.next, true) &&
         are_times(given.copies, given.before_ptr[given.tasks]) &&
         are_times(given.size_bytes, given.before_ptr[given.tasks]) &&
         are_times(given.latency_s, pairs) && are_times(given.seconds_per_byte, pairs) &&
         are_times(given.initial_s, places) && are_times(given.lag, places) &&
         are_times(&given.tick_s, 1);
}

class Drafts {
 public:
  explicit Drafts(const tasksim_drafts &given)
      : given_(given),
        tasks_(given.tasks),
        place_(tasks_),
        end_(tasks_),
        trial_(tasks_),
        start_(tasks_),
        tail_(tasks_),
        before_(tasks_),
        sorted_(tasks_),
        idle_(given.workers),
        latest_(given.workers),
        marks_((tasks_ / MARK_PLACES + 1) * given.workers),
        able_ptr_(tasks_ + 1) {
    vector<double> fastest(tasks_);
    for (i64 task = tasks_; task--;) {  // successors come later in the order of submission
      const double *cost = given.cost + task * given.classes;
      fastest[task] = *std::min_element(cost, cost + given.classes);
      for (const i64 next : successors(task))
        tail_[task] = std::max(tail_[task], fastest[next] + tail_[next]);
    }
    for (i64 task = 0; task < tasks_; ++task) {
      double speeds = 0.0, sum = 0.0;
      for (i64 worker = 0; worker < given.workers; ++worker)
        if (cost(task, worker) < NEVER) {
          able_.push_back(worker);
          speeds += fastest[task] / std::max(cost(task, worker), LEAST_COST_S);
        }
      able_ptr_[task + 1] = static_cast<i64>(able_.size());
      const auto able = able_of(task);
      for (const i64 worker : able) {
        const double speed = fastest[task] / std::max(cost(task, worker), LEAST_COST_S);
        sum += ANYWHERE_SHARE / static_cast<double>(able.size());
        sum += speeds > 0.0 ? (1.0 - ANYWHERE_SHARE) * (speed / speeds) : 0.0;
        chance_.push_back(sum);
      }
    }
  }
  Drafts(const Drafts &) = delete;

  // Whether tasks are on workers that can run them, in an order with predecessors first.
  bool follows(const i64 *worker, const i64 *order) {
    std::fill(place_.begin(), place_.end(), -1);
    for (i64 k = 0; k < tasks_; ++k) {
      const i64 task = order[k];
      if (task < 0 || task >= tasks_ || place_[task] >= 0) return false;
      if (worker[task] < 0 || worker[task] >= given_.workers) return false;
      if (!(cost(task, worker[task]) < NEVER)) return false;
      for (const i64 before : predecessors(task))
        if (place_[before] < 0) return false;
      place_[task] = k;
    }
    return true;
  }

  // Tries *steps* changes of a schedule; returns the estimates of the first and the last one.
  void walk(i64 *worker, i64 *order, i64 steps, double temperature_s, uint64_t seed,
            double *estimates) {
    begin(worker, order);
    estimates[0] = now_;
    random_.state = seed;
    sort();
    find_critical();
    i64 taken = 0;
    for (i64 step = 0; step < steps; ++step) {
      change();
      // Drawn before the estimate, which then ends as soon as it is too long.
      const double limit = now_ - temperature_s * std::log(1.0 - random_.unit());
      i64 last = tasks_;
      const double found = estimate(first_, limit, last);
      if (found > limit) {
        undo(last);
        continue;
      }
      const bool better = found < now_, same = found == now_;
      now_ = found;
      keep(first_);
      if (++taken >= tasks_ / 4) {
        taken = 0;
        sort();
        find_critical();
      } else if (better || random_.unit() < (same ? 0.02 : 0.2)) {
        find_critical();
      }
    }
    estimates[1] = now_;
  }

  // Notes how much later than estimated the data of the tasks of a replay were there.
  void learn(const i64 *worker, const i64 *order, const double *start, const double *end) {
    std::fill(idle_.begin(), idle_.end(), 0.0);
    for (i64 k = 0; k < tasks_; ++k) {
      const i64 task = order[k], memory = given_.memory_of[worker[task]];
      const double late = start[task] - inputs(task, memory, worker, end).arrived;
      double &lag = given_.lag[task * given_.memories + memory];
      // Of a task that waited for its worker, only the most that it may have waited is known.
      const bool waited = start[task] > idle_[worker[task]] + given_.tick_s;
      lag = waited ? late : std::min(lag, late);
      idle_[worker[task]] = end[task];
    }
  }

 private:
  struct Wait {
    i64 before, task;
  };
  struct Pair {
    i64 task, value;
  };
  struct Inputs {
    double released, arrived;  // when the predecessors end, and when their data are there
  };

  double cost(i64 task, i64 worker) const {
    return given_.cost[task * given_.classes + given_.class_of[worker]];
  }
  std::span<const i64> successors(i64 task) const {
    return {given_.next + given_.next_ptr[task], given_.next + given_.next_ptr[task + 1]};
  }
  std::span<const i64> predecessors(i64 task) const {
    return {given_.before + given_.before_ptr[task], given_.before + given_.before_ptr[task + 1]};
  }
  std::span<const i64> able_of(i64 task) const {
    return {able_.data() + able_ptr_[task], able_.data() + able_ptr_[task + 1]};
  }

  // When the data of edge *edge*, written by *source*, are in *memory*.
  double arrival(i64 edge, i64 memory, const i64 *worker, const double *end) const {
    const i64 source = given_.before[edge], from = given_.memory_of[worker[source]];
    if (from == memory || given_.copies[edge] <= 0.0) return end[source];
    const i64 pair = from * given_.memories + memory;
    return end[source] + (given_.copies[edge] * given_.latency_s[pair] +
                          given_.size_bytes[edge] * given_.seconds_per_byte[pair]);
  }

  Inputs inputs(i64 task, i64 memory, const i64 *worker, const double *end) const {
    Inputs found{0.0, given_.initial_s[task * given_.memories + memory]};
    for (i64 edge = given_.before_ptr[task]; edge < given_.before_ptr[task + 1]; ++edge) {
      found.released = std::max(found.released, end[given_.before[edge]]);
      found.arrived = std::max(found.arrived, arrival(edge, memory, worker, end));
    }
    return found;
  }

  void begin(i64 *worker, i64 *order) {
    worker_ = worker;
    order_ = order;
    for (i64 k = 0; k < tasks_; ++k) place_[order[k]] = k;
    whole();
  }

  void whole() {
    std::fill(idle_.begin(), idle_.end(), 0.0);
    std::copy(idle_.begin(), idle_.end(), marks_.begin());
    i64 last = tasks_;
    now_ = estimate(0, NEVER, last);
    keep(0);
  }

  void idle_before(i64 place) {
    const i64 mark = place / MARK_PLACES;
    std::copy_n(marks_.begin() + mark * given_.workers, given_.workers, idle_.begin());
    for (i64 k = mark * MARK_PLACES; k < place; ++k) idle_[worker_[order_[k]]] = trial_[order_[k]];
  }

  // The makespan if tasks from place *from* on have changed; infinite if it is above *limit*: then
  // *last* is the place behind the last task whose end was estimated.
  double estimate(i64 from, double limit, i64 &last) {
    idle_before(from);
    for (i64 k = from; k < tasks_; ++k) {
      const i64 task = order_[k], worker = worker_[task], memory = given_.memory_of[worker];
      const auto [released, arrived] = inputs(task, memory, worker_, trial_.data());
      const double lag = given_.lag[task * given_.memories + memory];
      start_[task] = std::max({idle_[worker], released, arrived + lag});
      idle_[worker] = trial_[task] = start_[task] + cost(task, worker);
      if (trial_[task] + tail_[task] > limit) {
        last = k + 1;
        return NEVER;
      }
    }
    return tasks_ ? *std::max_element(idle_.begin(), idle_.end()) : 0.0;
  }

  void keep(i64 from) {
    const i64 mark = from / MARK_PLACES;
    std::copy_n(marks_.begin() + mark * given_.workers, given_.workers, idle_.begin());
    for (i64 k = mark * MARK_PLACES; k < tasks_; ++k) {
      if (k % MARK_PLACES == 0)
        std::copy(idle_.begin(), idle_.end(), marks_.begin() + k / MARK_PLACES * given_.workers);
      const i64 task = order_[k];
      idle_[worker_[task]] = end_[task] = trial_[task];
    }
  }

  void undo(i64 last) {
    for (i64 k = first_; k < last; ++k) trial_[order_[k]] = end_[order_[k]];
    while (moves_) {
      --moves_;
      move(moved_[moves_].task, moved_[moves_].value);
    }
    while (changes_) {
      --changes_;
      worker_[changed_[changes_].task] = changed_[changes_].value;
    }
  }

  // Orders all tasks by their starts, which changes no worker's list.
  void sort() {
    i64 last = tasks_;
    estimate(0, NEVER, last);  // the starts of what was refused are not those of the schedule
    std::copy(order_, order_ + tasks_, sorted_.begin());
    std::stable_sort(sorted_.begin(), sorted_.end(),
                     [this](i64 one, i64 other) { return start_[one] < start_[other]; });
    std::copy(sorted_.begin(), sorted_.end(), order_);
    for (i64 k = 0; k < tasks_; ++k) place_[order_[k]] = k;
    whole();
  }

  // Finds the tasks that the end waits for, the last one first, and what each waited for.
  void find_critical() {
    critical_.clear();
    waits_.clear();
    std::fill(latest_.begin(), latest_.end(), -1);
    i64 task = -1;
    for (i64 k = 0; k < tasks_; ++k) {
      const i64 here = order_[k];
      before_[here] = latest_[worker_[here]];
      latest_[worker_[here]] = here;
      if (task < 0 || end_[here] > end_[task]) task = here;
    }
    while (task >= 0) {
      critical_.push_back(task);
      const i64 memory = given_.memory_of[worker_[task]];
      const double lag = given_.lag[task * given_.memories + memory];
      i64 cause = before_[task];
      double when = cause >= 0 ? end_[cause] : -1.0;
      for (i64 edge = given_.before_ptr[task]; edge < given_.before_ptr[task + 1]; ++edge) {
        const double at = std::max(end_[given_.before[edge]],
                                   arrival(edge, memory, worker_, end_.data()) + lag);
        if (at > when) {
          when = at;
          cause = given_.before[edge];
        }
      }
      if (cause >= 0 &&
          (worker_[cause] == worker_[task] || given_.memory_of[worker_[cause]] != memory))
        waits_.push_back({cause, task});
      task = cause;
    }
  }

  void change() {
    changes_ = moves_ = 0;
    first_ = tasks_ - 1;
    if (!waits_.empty() && random_.unit() < WAIT_SHARE) {
      const Wait wait = waits_[random_.below(static_cast<i64>(waits_.size()))];
      change_wait(wait.before, wait.task);
      return;
    }
    const bool critical = !critical_.empty() && random_.unit() < CRITICAL_SHARE;
    const i64 task = critical ? critical_[random_.below(static_cast<i64>(critical_.size()))]
                              : random_.below(tasks_);
    const double kind = random_.unit();
    if (kind < 0.4) {
      put(task);
    } else if (kind < 0.8 && able_of(task).size() > 1) {
      assign(task);
      if (random_.unit() < 0.6) put(task);
    } else {
      const i64 far = 2 * static_cast<i64>(able_of(task).size());
      i64 other;
      if (random_.unit() < 0.7) {
        const i64 near = place_[task] + random_.below(2 * far + 1) - far;
        other = order_[std::clamp<i64>(near, 0, tasks_ - 1)];
      } else {
        other = random_.below(tasks_);
      }
      swap(task, other);
    }
  }

  void change_wait(i64 before, i64 task) {
    if (worker_[before] != worker_[task]) {
      if (random_.unit() < 0.5) std::swap(before, task);
      const i64 memory = given_.memory_of[worker_[before]];
      near_.clear();
      for (const i64 worker : able_of(task))
        if (given_.memory_of[worker] == memory) near_.push_back(worker);
      if (!near_.empty())
        give(task, near_[random_.below(static_cast<i64>(near_.size()))]);
      return;
    }
    const double kind = random_.unit();
    if (kind < 0.4) {
      const i64 early = place_[before], late = place_[task];
      if (!fits(task, early) && !fits(before, late)) assign(task);
      return;
    }
    const i64 chosen = kind < 0.7 ? task : before;
    assign(chosen);
    if (random_.unit() < 0.3) put(chosen);
  }

  void give(i64 task, i64 worker) {
    changed_[changes_++] = {task, worker_[task]};
    first_ = std::min(first_, place_[task]);
    worker_[task] = worker;
  }

  void assign(i64 task) {
    const auto able = able_of(task);
    const double *chances = chance_.data() + able_ptr_[task];
    for (int tries = 0; tries < 3; ++tries) {
      const double *end = chances + able.size();
      const i64 drawn = std::lower_bound(chances, end, random_.unit()) - chances;
      const i64 worker = able[std::min<i64>(drawn, static_cast<i64>(able.size()) - 1)];
      if (worker != worker_[task]) {
        give(task, worker);
        return;
      }
    }
  }

  // The first and the last place between the predecessors and the successors of *task*.
  Pair room(i64 task) const {
    i64 low = 0, high = tasks_ - 1;
    for (const i64 before : predecessors(task)) low = std::max(low, place_[before] + 1);
    for (const i64 next : successors(task)) high = std::min(high, place_[next] - 1);
    return {low, high};
  }

  void put(i64 task) {
    const auto [low, high] = room(task);
    shift(task, low + random_.below(high - low + 1));
  }

  bool fits(i64 task, i64 place) {
    const auto [low, high] = room(task);
    if (place < low || place > high) return false;
    shift(task, place);
    return true;
  }

  void swap(i64 one, i64 other) {
    const i64 first = worker_[one], second = worker_[other];
    if (first != second && cost(one, second) < NEVER && cost(other, first) < NEVER) {
      give(one, second);
      give(other, first);
    }
    const i64 early = place_[one], late = place_[other];
    fits(one, late);
    fits(other, early);
  }

  void shift(i64 task, i64 place) {
    moved_[moves_++] = {task, place_[task]};
    first_ = std::min({first_, place_[task], place});
    move(task, place);
  }

  void move(i64 task, i64 to) {
    const i64 step = place_[task] < to ? 1 : -1;
    for (i64 k = place_[task]; k != to; k += step) {
      order_[k] = order_[k + step];
      place_[order_[k]] = k;
    }
    order_[to] = task;
    place_[task] = to;
  }

  const tasksim_drafts given_;
  const i64 tasks_;
  i64 *worker_ = nullptr, *order_ = nullptr;
  vector<i64> place_;  // of each task in the order
  vector<double> end_, trial_, start_;
  vector<double> tail_;  // the least time from the end of each task to that of the last one
  vector<i64> before_, sorted_;
  vector<double> idle_;  // since when each worker is idle
  vector<i64> latest_;
  vector<double> marks_;  // the same before every 32nd place
  vector<i64> able_ptr_, able_;
  vector<double> chance_;  // cumulated, of the workers that can run each task
  vector<i64> critical_, near_;
  vector<Wait> waits_;
  Random random_{0};
  double now_ = NEVER;
  Pair changed_[2], moved_[2];  // what a change replaced: workers, places
  int changes_ = 0, moves_ = 0;
  i64 first_ = 0;  // the first place that a change affects
};

}  // namespace

}  // namespace tasksim::optimization

using tasksim::optimization::Drafts;

void *tasksim_drafts_new(const tasksim_drafts *given) {
  try {
    return tasksim::optimization::legal(*given) ? new Drafts(*given) : nullptr;
  } catch (const std::bad_alloc &) {
    return nullptr;
  }
}

int32_t tasksim_drafts_walk(void *drafts, int64_t *worker, int64_t *order, int64_t steps,
                            double temperature_s, uint64_t seed, double *estimates) {
  try {
    if (!static_cast<Drafts *>(drafts)->follows(worker, order)) return TASKSIM_BAD_ARRAYS;
    static_cast<Drafts *>(drafts)->walk(worker, order, steps, temperature_s, seed, estimates);
    return TASKSIM_DONE;
  } catch (const std::bad_alloc &) {
    return TASKSIM_NO_MEMORY;
  }
}

int32_t tasksim_drafts_learn(void *drafts, const int64_t *worker, const int64_t *order,
                             const double *start, const double *end) {
  if (!static_cast<Drafts *>(drafts)->follows(worker, order)) return TASKSIM_BAD_ARRAYS;
  static_cast<Drafts *>(drafts)->learn(worker, order, start, end);
  return TASKSIM_DONE;
}

void tasksim_drafts_free(void *drafts) { delete static_cast<Drafts *>(drafts); }
