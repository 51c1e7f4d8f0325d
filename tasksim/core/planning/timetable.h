// Timetable: a static plan in the making, as in tasksim/schedulers/static/plan.py.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "../tasksim_core.h"

namespace tasksim::planning {

using i64 = std::int64_t;
using std::vector;

inline constexpr double NEVER = std::numeric_limits<double>::infinity();

// Thrown when the caller has asked the planner to stop.
struct Interrupted {};

// The problem, with access by task.
struct Given : tasksim_planning {
  explicit Given(const tasksim_planning &given) : tasksim_planning(given) {}

  double cost_at(i64 task, i64 worker) const { return cost[task * classes + class_of[worker]]; }
  // The rows of the edges from a task, which are in order of their targets.
  std::pair<i64, i64> rows_after(i64 task) const { return {ptr[task], ptr[task + 1]}; }
  // The rows of the edges to a task.
  std::span<const i64> rows_before(i64 task) const {
    return {by_target + target_ptr[task], by_target + target_ptr[task + 1]};
  }
  std::span<const i64> after(i64 task) const {
    return {target + ptr[task], target + ptr[task + 1]};
  }
  // The data that a task accesses commutatively.
  std::span<const i64> commuting(i64 task) const {
    if (!commuting_ptr) return {};
    return {commuting_handle + commuting_ptr[task], commuting_handle + commuting_ptr[task + 1]};
  }
  bool commute(i64 one, i64 other) const {
    const auto handles = commuting(one);
    return std::any_of(handles.begin(), handles.end(), [&](i64 handle) {
      const auto others = commuting(other);
      return std::find(others.begin(), others.end(), handle) != others.end();
    });
  }
};

// The gaps of one worker in ascending order; the last one has no end. Gaps shorter than *least* are
// dropped, because no task fits into them.
class Timeline {
 public:
  explicit Timeline(double least) : starts_{0.0}, ends_{NEVER}, least_(least) {}

  double earliest(double ready, double duration) const {
    auto place = std::lower_bound(ends_.begin(), ends_.end(), ready + duration) - ends_.begin();
    while (true) {
      const double start = std::max(starts_[place], ready);
      if (start + duration <= ends_[place]) return start;
      ++place;
    }
  }

  void occupy(double start, double duration) {
    const auto place =
        std::upper_bound(starts_.begin(), starts_.end(), start) - starts_.begin() - 1;
    const double before = starts_[place], after = ends_[place], end = start + duration;
    const bool left = start > before && start - before >= least_;
    const bool right = after > end && after - end >= least_;
    if (left) ends_[place] = start;
    if (right && left) {
      starts_.insert(starts_.begin() + place + 1, end);
      ends_.insert(ends_.begin() + place + 1, after);
    } else if (right) {
      starts_[place] = end;
    } else if (!left) {
      starts_.erase(starts_.begin() + place);
      ends_.erase(ends_.begin() + place);
    }
  }

 private:
  vector<double> starts_, ends_;
  double least_;
};

class Timetable {
 public:
  // Without *gaps*, tasks only go after all that are placed on their workers.
  Timetable(const Given &given, const tasksim_plan_made &made, bool gaps)
      : given(given),
        free(given.workers),
        made_(made),
        arrivals_(given.memories),
        starts_(given.workers),
        last_commuting_(given.commuting_ptr ? given.handles : 0, -1) {
    std::fill(made.worker, made.worker + given.tasks, -1);
    if (gaps) {
      vector<double> least(given.classes, NEVER);
      for (i64 task = 0; task < given.tasks; ++task)
        for (i64 group = 0; group < given.classes; ++group)
          least[group] = std::min(least[group], given.cost[task * given.classes + group]);
      for (i64 worker = 0; worker < given.workers; ++worker) {
        const double shortest = least[given.class_of[worker]];
        timelines_.emplace_back(shortest < NEVER ? shortest : 0.0);
      }
    }
    if (given.memories > 1 && given.initials) {
      initial_.resize(given.tasks * given.memories);
      for (i64 k = 0; k < given.initials; ++k)
        for (i64 memory = 0; memory < given.memories; ++memory) {
          const i64 pair = given.initial_home[k] * given.memories + memory;
          initial_[given.initial_task[k] * given.memories + memory] +=
              given.latency_s[pair] + given.seconds_per_byte[pair] * given.initial_size[k];
        }
    }
  }

  // Per memory, when all inputs of *task* can be there.
  const vector<double> &arrivals(i64 task) {
    if (initial_.empty())
      std::fill(arrivals_.begin(), arrivals_.end(), 0.0);
    else
      std::copy_n(initial_.begin() + task * given.memories, given.memories, arrivals_.begin());
    for (const i64 row : given.rows_before(task)) {
      const i64 source = given.source[row];
      const double end = made_.end[source], copies = given.copies[row], size = given.size[row];
      if (given.memories == 1) {
        arrivals_[0] = std::max(arrivals_[0], end);
        continue;
      }
      const i64 from = given.memory_of[made_.worker[source]] * given.memories;
      for (i64 memory = 0; memory < given.memories; ++memory) {
        const double sent = given.latency_s[from + memory] * copies +
                            given.seconds_per_byte[from + memory] * size;
        arrivals_[memory] = std::max(arrivals_[memory], sent + end);
      }
    }
    for (const i64 handle : given.commuting(task)) {  // tasks that commute exclude each other
      const i64 other = last_commuting_[handle];
      const double latest = other < 0 ? 0.0 : made_.end[other];
      for (double &arrival : arrivals_) arrival = std::max(arrival, latest);
    }
    return arrivals_;
  }

  // Per worker, the earliest start of *task*, in a gap if there are gaps; infinite if it cannot run
  // there.
  const vector<double> &starts(i64 task) {
    arrivals(task);
    for (i64 worker = 0; worker < given.workers; ++worker) {
      const double cost = given.cost_at(task, worker);
      const double arrival = arrivals_[given.memory_of[worker]];
      starts_[worker] = cost == NEVER          ? NEVER
                        : timelines_.empty() ? std::max(free[worker], arrival)
                                             : timelines_[worker].earliest(arrival, cost);
    }
    return starts_;
  }

  void place_earliest(i64 task) {
    starts(task);
    i64 best = 0;
    for (i64 worker = 1; worker < given.workers; ++worker)
      if (starts_[worker] + given.cost_at(task, worker) <
          starts_[best] + given.cost_at(task, best))
        best = worker;
    place(task, best, starts_[best]);
  }

  double place(i64 task, i64 worker, double start) {
    if (given.stop && *given.stop) throw Interrupted{};
    const double duration = given.cost_at(task, worker), end = start + duration;
    if (!timelines_.empty()) timelines_[worker].occupy(start, duration);
    made_.worker[task] = static_cast<std::int32_t>(worker);
    made_.start[task] = start;
    made_.end[task] = end;
    free[worker] = std::max(free[worker], end);
    for (const i64 handle : given.commuting(task)) last_commuting_[handle] = task;
    return end;
  }

  i64 worker(i64 task) const { return made_.worker[task]; }
  double end(i64 task) const { return made_.end[task]; }

  const Given &given;
  vector<double> free;  // per worker, the end of the last task placed there

 private:
  const tasksim_plan_made made_;
  vector<double> arrivals_, starts_;
  vector<i64> last_commuting_;
  vector<Timeline> timelines_;
  vector<double> initial_;  // per task and memory, when the data are there that no task writes
};

// The tasks whose predecessors are all placed, with their arrivals on each worker. Rows are the
// tasks, in the same order as in Python: sums over rows depend on it.
class Frontier {
 public:
  explicit Frontier(Timetable &table) : table_(table), given_(table.given), waiting(given_.tasks) {
    for (i64 task = 0; task < given_.tasks; ++task)
      waiting[task] = static_cast<i64>(given_.rows_before(task).size());
    for (i64 task = 0; task < given_.tasks; ++task)
      if (!waiting[task]) add(task);
  }

  i64 count() const { return static_cast<i64>(tasks.size()); }
  double cost(i64 row, i64 worker) const { return given_.cost_at(tasks[row], worker); }

  // The earliest start after all tasks placed there; infinite if the worker cannot run the task.
  double start(i64 row, i64 worker) const {
    if (cost(row, worker) == NEVER) return NEVER;
    return std::max(arrival_[row * given_.workers + worker], table_.free[worker]);
  }

  // The task and the worker of the least keys(row, worker), a tuple; then the lowest numbers.
  template <class Keys>
  std::pair<i64, i64> least(Keys keys) const {
    i64 task = -1, worker = -1;
    auto best = keys(0, 0);
    for (i64 row = 0; row < count(); ++row)
      for (i64 other = 0; other < given_.workers; ++other) {
        const auto found = keys(row, other);
        if (task >= 0 && best < found) continue;
        if (task < 0 || found < best || std::tie(tasks[row], other) < std::tie(task, worker)) {
          best = found;
          task = tasks[row];
          worker = other;
        }
      }
    return {task, worker};
  }

  // Places a task after all tasks on the worker, and adds the tasks that are ready then.
  void place(std::pair<i64, i64> chosen) {
    const auto [task, worker] = chosen;
    const i64 row = std::find(tasks.begin(), tasks.end(), task) - tasks.begin(), last = count() - 1;
    table_.place(task, worker,
                 std::max(arrival_[row * given_.workers + worker], table_.free[worker]));
    tasks[row] = tasks[last];
    std::copy_n(arrival_.begin() + last * given_.workers, given_.workers,
                arrival_.begin() + row * given_.workers);
    tasks.pop_back();
    arrival_.resize(last * given_.workers);
    if (!given_.commuting(task).empty())
      for (i64 other = 0; other < last; ++other)
        if (given_.commute(task, tasks[other])) arrive(other);
    for (const i64 after : given_.after(task))
      if (!--waiting[after]) add(after);
  }

 private:
  void add(i64 task) {
    tasks.push_back(task);
    arrival_.resize(tasks.size() * given_.workers);
    arrive(count() - 1);
  }

  void arrive(i64 row) {
    const auto &arrivals = table_.arrivals(tasks[row]);
    for (i64 worker = 0; worker < given_.workers; ++worker)
      arrival_[row * given_.workers + worker] = arrivals[given_.memory_of[worker]];
  }

  Timetable &table_;
  const Given &given_;

 public:
  vector<i64> waiting;  // per task, the number of its predecessors that are not placed
  vector<i64> tasks;    // per row

 private:
  vector<double> arrival_;
};

}  // namespace tasksim::planning
