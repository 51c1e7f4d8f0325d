// Ranks: priorities of tasks in static plans, as in tasksim/schedulers/static/ranked.py.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>
#include <vector>

#include "timetable.h"

namespace tasksim::planning {

// The same number as in ranked.py, where the reason is.
inline constexpr double RELATIVE_RANK_TOLERANCE = 1e-10;

// The sum of *n* numbers in the order of NumPy's: its last digits are the same.
inline double sum_of(const double *values, i64 n) {
  if (n < 8) return std::accumulate(values, values + n, 0.0);
  if (n > 128) {
    const i64 half = n / 2 - n / 2 % 8;
    return sum_of(values, half) + sum_of(values + half, n - half);
  }
  double part[8];
  std::copy_n(values, 8, part);
  i64 k = 8;
  for (; k < n - n % 8; k += 8)
    for (i64 j = 0; j < 8; ++j) part[j] += values[k + j];
  const double sum = ((part[0] + part[1]) + (part[2] + part[3])) +
                     ((part[4] + part[5]) + (part[6] + part[7]));
  return std::accumulate(values + k, values + n, sum);
}

// Per task, its mean duration over the workers that can run it.
inline vector<double> mean_costs(const Given &given) {
  vector<double> count(given.classes), mean(given.tasks), total(given.classes), able(given.classes);
  for (i64 worker = 0; worker < given.workers; ++worker) count[given.class_of[worker]] += 1.0;
  for (i64 task = 0; task < given.tasks; ++task) {
    for (i64 group = 0; group < given.classes; ++group) {
      const double cost = given.cost[task * given.classes + group];
      total[group] = cost < NEVER ? cost * count[group] : 0.0;
      able[group] = cost < NEVER ? count[group] : 0.0;
    }
    mean[task] = sum_of(total.data(), given.classes) / sum_of(able.data(), given.classes);
  }
  return mean;
}

// Per task, its median duration over the workers that can run it.
inline vector<double> median_costs(const Given &given) {
  vector<double> median(given.tasks), able;
  for (i64 task = 0; task < given.tasks; ++task) {
    able.clear();
    for (i64 worker = 0; worker < given.workers; ++worker)
      if (const double cost = given.cost_at(task, worker); cost < NEVER) able.push_back(cost);
    std::sort(able.begin(), able.end());
    const auto n = able.size();
    median[task] = n % 2 ? able[n / 2] : (able[n / 2 - 1] + able[n / 2]) / 2.0;
  }
  return median;
}

// Per edge, its mean time over all pairs of workers; or over those with different memories, *apart*.
inline vector<double> mean_communication(const Given &given, bool apart) {
  const i64 memories = given.memories;
  vector<double> times(given.edges), count(memories);
  for (i64 worker = 0; worker < given.workers; ++worker) count[given.memory_of[worker]] += 1.0;
  vector<double> weight(memories * memories), part(memories * memories);
  for (i64 one = 0; one < memories; ++one)
    for (i64 other = 0; other < memories; ++other)
      if (one != other) weight[one * memories + other] = count[one] * count[other];
  const double all = sum_of(weight.data(), memories * memories);
  const double pairs = apart ? all : static_cast<double>(given.workers * (given.workers - 1));
  if (pairs == 0.0 || all == 0.0) return times;
  const auto mean = [&](const double *values) {
    for (i64 pair = 0; pair < memories * memories; ++pair) part[pair] = weight[pair] * values[pair];
    return sum_of(part.data(), memories * memories) / pairs;
  };
  const double latency = mean(given.latency_s), inverse = mean(given.seconds_per_byte);
  for (i64 row = 0; row < given.edges; ++row)
    times[row] = given.copies[row] * latency + given.size[row] * inverse;
  return times;
}

// Per task, the longest path from its start to the end; *level* has the durations.
inline vector<double> paths_to_end(const Given &given, vector<double> level,
                                   const vector<double> &communication) {
  for (i64 task = given.tasks; task--;) {
    const auto [begin, end] = given.rows_after(task);
    double most = -NEVER;
    for (i64 row = begin; row < end; ++row)
      most = std::max(most, communication.empty() ? level[given.target[row]]
                                                  : communication[row] + level[given.target[row]]);
    if (begin < end) level[task] += most;
  }
  return level;
}

inline vector<double> upward_ranks(const Given &given) {
  return paths_to_end(given, mean_costs(given), mean_communication(given, false));
}

inline vector<double> downward_ranks(const Given &given) {
  const auto mean = mean_costs(given), communication = mean_communication(given, false);
  vector<double> rank(given.tasks);
  for (i64 task = 0; task < given.tasks; ++task) {
    const double done = rank[task] + mean[task];
    const auto [begin, end] = given.rows_after(task);
    for (i64 row = begin; row < end; ++row) {
      double &next = rank[given.target[row]];
      next = std::max(next, done + communication[row]);
    }
  }
  return rank;
}

inline double tolerance_of(const vector<double> &ranks) {
  double most = 0.0;
  for (const double rank : ranks) most = std::max(most, std::abs(rank));
  return RELATIVE_RANK_TOLERANCE * most;
}

// The tasks by falling rank; those whose ranks are equal within the tolerance by number.
inline vector<i64> by_rank(const vector<double> &ranks) {
  vector<i64> order(ranks.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](i64 one, i64 other) { return ranks[one] > ranks[other]; });
  const double tolerance = tolerance_of(ranks);
  for (auto first = order.begin(); first != order.end();) {
    auto last = first + 1;
    while (last != order.end() && !(ranks[last[-1]] - ranks[*last] > tolerance)) ++last;
    std::sort(first, last);
    first = last;
  }
  return order;
}

// Calls visit(task) for all tasks, predecessors first; among ready ones, the first in *order*.
template <class Visit>
void visit_ready(const Given &given, const vector<i64> &order, Visit visit) {
  vector<i64> position(given.tasks), waiting(given.tasks);
  std::priority_queue<i64, vector<i64>, std::greater<>> ready;
  for (i64 place = 0; place < given.tasks; ++place) position[order[place]] = place;
  for (i64 task = 0; task < given.tasks; ++task) {
    waiting[task] = static_cast<i64>(given.rows_before(task).size());
    if (!waiting[task]) ready.push(position[task]);
  }
  while (!ready.empty()) {
    const i64 task = order[ready.top()];
    ready.pop();
    visit(task);
    for (const i64 after : given.after(task))
      if (!--waiting[after]) ready.push(position[after]);
  }
}

// The worker that can run the most of *tasks*; a tie goes to the fastest, then the lowest number.
inline i64 fastest_worker(const Given &given, const vector<i64> &tasks) {
  vector<i64> able(given.classes);
  vector<double> seconds(given.classes);
  for (const i64 task : tasks)
    for (i64 group = 0; group < given.classes; ++group)
      if (const double cost = given.cost[task * given.classes + group]; cost < NEVER) {
        ++able[group];
        seconds[group] += cost;
      }
  i64 best = 0;
  for (i64 worker = 1; worker < given.workers; ++worker) {
    const i64 one = given.class_of[worker], other = given.class_of[best];
    if (able[one] > able[other] || (able[one] == able[other] && seconds[one] < seconds[other]))
      best = worker;
  }
  return best;
}

// The tasks of a critical path, from first to last.
inline vector<i64> critical_tasks(const Given &given, const vector<double> &priority) {
  double length = -NEVER;
  for (i64 task = 0; task < given.tasks; ++task)
    if (given.rows_before(task).empty()) length = std::max(length, priority[task]);
  const double tolerance = tolerance_of(priority);
  const auto on_path = [&](i64 task) { return std::abs(priority[task] - length) <= tolerance; };
  vector<i64> path;
  for (i64 task = 0; path.empty(); ++task)
    if (given.rows_before(task).empty() && on_path(task)) path.push_back(task);
  while (true) {
    const auto after = given.after(path.back());
    const auto next = std::find_if(after.begin(), after.end(), on_path);
    if (next == after.end()) return path;
    path.push_back(*next);
  }
}

}  // namespace tasksim::planning
