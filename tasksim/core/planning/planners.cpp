// Planners: static plans, as the functions of the same names in tasksim/schedulers/static make them.
// Their docstrings describe each algorithm, its source and its ties.
#include <array>
#include <deque>
#include <new>
#include <optional>
#include <set>
#include <string_view>

#include "ranks.h"

namespace tasksim::planning {

namespace {

using Numbers = std::span<const double>;  // options of an algorithm; tasksim_core.h lists them

void heft(Timetable &table, Numbers) {
  for (const i64 task : by_rank(upward_ranks(table.given))) table.place_earliest(task);
}

void cpop(Timetable &table, Numbers) {
  const Given &given = table.given;
  auto priority = upward_ranks(given);
  const auto down = downward_ranks(given);
  for (i64 task = 0; task < given.tasks; ++task) priority[task] += down[task];
  const auto path = critical_tasks(given, priority);
  const i64 worker = fastest_worker(given, path);
  vector<bool> critical(given.tasks);
  for (const i64 task : path) critical[task] = true;
  visit_ready(given, by_rank(priority), [&](i64 task) {
    const double start = critical[task] ? table.starts(task)[worker] : NEVER;
    if (start < NEVER)
      table.place(task, worker, start);
    else
      table.place_earliest(task);
  });
}

// The memory of each class of workers; 0 for a class without workers.
vector<i64> memory_of_class(const Given &given) {
  vector<i64> memory(given.classes);
  for (i64 worker = 0; worker < given.workers; ++worker)
    memory[given.class_of[worker]] = given.memory_of[worker];
  return memory;
}

// Per task and class, an optimistic time that must follow the task.
vector<double> optimistic_costs(const Given &given) {
  const i64 classes = given.classes;
  const auto memory = memory_of_class(given);
  const auto communication = mean_communication(given, true);
  vector<double> table(given.tasks * classes), near(given.memories);
  vector<double> onward(given.cost, given.cost + given.tasks * classes);
  for (i64 task = given.tasks; task--;) {
    const auto [begin, end] = given.rows_after(task);
    for (i64 row = begin; row < end; ++row) {
      const double *after = onward.data() + given.target[row] * classes;
      std::fill(near.begin(), near.end(), NEVER);
      for (i64 group = 0; group < classes; ++group)
        near[memory[group]] = std::min(near[memory[group]], after[group]);
      const double far = *std::min_element(after, after + classes) + communication[row];
      for (i64 group = 0; group < classes; ++group) {
        double &most = table[task * classes + group];
        const double time = std::min(near[memory[group]], far);
        most = row == begin ? time : std::max(most, time);
      }
    }
    for (i64 group = 0; group < classes; ++group)
      onward[task * classes + group] += table[task * classes + group];
  }
  return table;
}

void peft(Timetable &table, Numbers) {
  const Given &given = table.given;
  const auto optimistic = optimistic_costs(given);
  const auto onward = [&](i64 task, i64 worker) {
    return optimistic[task * given.classes + given.class_of[worker]];
  };
  vector<double> rank(given.tasks);
  for (i64 task = 0; task < given.tasks; ++task) {
    for (i64 worker = 0; worker < given.workers; ++worker) rank[task] += onward(task, worker);
    rank[task] /= static_cast<double>(given.workers);
  }
  visit_ready(given, by_rank(rank), [&](i64 task) {
    const auto &starts = table.starts(task);
    i64 best = -1;
    double least = 0.0;
    for (i64 worker = 0; worker < given.workers; ++worker) {
      const double finish = starts[worker] + given.cost_at(task, worker) + onward(task, worker);
      if (best < 0 || finish < least) {
        best = worker;
        least = finish;
      }
    }
    table.place(task, best, starts[best]);
  });
}

// The ready tasks of min-min and max-min with their possible ends on each class of workers. Only the
// earliest free worker of a class counts.
class Ready {
 public:
  explicit Ready(Timetable &table)
      : table_(table),
        given_(table.given),
        free_(given_.workers),
        class_free_(given_.classes),
        memory_(memory_of_class(given_)) {}

  bool empty() const { return rows_.empty(); }

  void add(i64 task) {
    rows_.push_back({task, 0, 0.0});
    arrival_.resize(rows_.size() * given_.classes);
    arrive(rows_.size() - 1);
  }

  // Places the next task, and returns it.
  i64 place(bool longest) {
    std::size_t row = 0;
    for (std::size_t k = 1; k < rows_.size(); ++k) {
      const double one = rows_[k].best, other = rows_[row].best;
      if (one == other ? rows_[k].task < rows_[row].task : (one < other) != longest) row = k;
    }
    const i64 task = rows_[row].task;
    i64 chosen = -1;
    double start = 0.0, least = 0.0;
    for (i64 worker = 0; worker < given_.workers; ++worker) {
      const double arrival = arrival_[row * given_.classes + given_.class_of[worker]];
      const double begin = std::max(free_[worker], arrival);
      const double end = begin + given_.cost_at(task, worker);
      if (chosen < 0 || end < least) {
        chosen = worker;
        start = begin;
        least = end;
      }
    }
    const std::size_t last = rows_.size() - 1;
    rows_[row] = rows_[last];
    std::copy_n(arrival_.begin() + last * given_.classes, given_.classes,
                arrival_.begin() + row * given_.classes);
    rows_.pop_back();
    arrival_.resize(last * given_.classes);
    occupied(chosen, table_.place(task, chosen, start));
    if (!given_.commuting(task).empty())
      for (std::size_t other = 0; other < rows_.size(); ++other)
        if (given_.commute(task, rows_[other].task)) arrive(other);
    return task;
  }

 private:
  struct Row {
    i64 task, best_class;
    double best;  // the earliest end
  };

  void occupied(i64 worker, double until) {
    const i64 group = given_.class_of[worker];
    free_[worker] = until;
    double free = NEVER;
    for (i64 other = 0; other < given_.workers; ++other)
      if (given_.class_of[other] == group) free = std::min(free, free_[other]);
    if (free == class_free_[group]) return;
    class_free_[group] = free;
    for (std::size_t row = 0; row < rows_.size(); ++row)
      if (rows_[row].best_class == group) refresh(row);
  }

  void arrive(std::size_t row) {
    const auto &arrivals = table_.arrivals(rows_[row].task);
    for (i64 group = 0; group < given_.classes; ++group)
      arrival_[row * given_.classes + group] = arrivals[memory_[group]];
    refresh(row);
  }

  void refresh(std::size_t row) {
    Row &found = rows_[row];
    for (i64 group = 0; group < given_.classes; ++group) {
      const double end = std::max(arrival_[row * given_.classes + group], class_free_[group]) +
                         given_.cost[found.task * given_.classes + group];
      if (!group || end < found.best) {
        found.best = end;
        found.best_class = group;
      }
    }
  }

  Timetable &table_;
  const Given &given_;
  vector<double> free_, class_free_;
  const vector<i64> memory_;
  vector<Row> rows_;
  vector<double> arrival_;
};

void batch(Timetable &table, bool longest, bool rounds) {
  const Given &given = table.given;
  Ready ready(table);
  vector<i64> waiting(given.tasks), later;
  for (i64 task = 0; task < given.tasks; ++task) {
    waiting[task] = static_cast<i64>(given.rows_before(task).size());
    if (!waiting[task]) ready.add(task);
  }
  while (!ready.empty()) {
    for (const i64 after : given.after(ready.place(longest)))
      if (!--waiting[after]) later.push_back(after);
    if (rounds && !ready.empty()) continue;
    for (const i64 task : later) ready.add(task);
    later.clear();
  }
}

void min_min(Timetable &table, Numbers numbers) { batch(table, false, numbers[0] != 0.0); }
void max_min(Timetable &table, Numbers numbers) { batch(table, true, numbers[0] != 0.0); }

void mct(Timetable &table, Numbers) {
  for (i64 task = 0; task < table.given.tasks; ++task) table.place_earliest(task);
}

void olb(Timetable &table, Numbers) {
  for (i64 task = 0; task < table.given.tasks; ++task) {
    i64 best = -1;
    for (i64 worker = 0; worker < table.given.workers; ++worker)
      if (table.given.cost_at(task, worker) < NEVER &&
          (best < 0 || table.free[worker] < table.free[best]))
        best = worker;
    table.place(task, best, table.starts(task)[best]);
  }
}

void met(Timetable &table, Numbers numbers) {
  for (i64 task = 0; task < table.given.tasks; ++task) {
    const auto rank = [&](i64 worker) {
      return std::pair(table.given.cost_at(task, worker), numbers[0] ? table.free[worker] : 0.0);
    };
    i64 best = 0;
    for (i64 worker = 1; worker < table.given.workers; ++worker)
      if (rank(worker) < rank(best)) best = worker;
    table.place(task, best, table.starts(task)[best]);
  }
}

void fastest_node(Timetable &table, Numbers) {
  vector<i64> tasks(table.given.tasks);
  std::iota(tasks.begin(), tasks.end(), 0);
  const i64 fastest = fastest_worker(table.given, tasks);
  for (const i64 task : tasks) {
    const double start = table.starts(task)[fastest];
    if (start < NEVER)
      table.place(task, fastest, start);
    else
      table.place_earliest(task);
  }
}

void etf(Timetable &table, Numbers) {
  const auto level = paths_to_end(table.given, mean_costs(table.given), {});
  Frontier ready(table);
  while (ready.count())
    ready.place(ready.least([&](i64 row, i64 worker) {
      return std::tuple(ready.start(row, worker), -level[ready.tasks[row]],
                        ready.cost(row, worker));
    }));
}

// The dynamic levels of DLS and GDL.
class Levels {
 public:
  Levels(const Given &given, bool median, bool descendants)
      : average_(median ? median_costs(given) : mean_costs(given)),
        static_(paths_to_end(given, average_, {})),
        workers_(given.workers) {
    if (descendants) consider_descendants(given);
  }

  double of(const Frontier &ready, i64 row, i64 worker) const {
    const i64 task = ready.tasks[row];
    const double cost = ready.cost(row, worker);
    if (cost == NEVER) return -NEVER;
    const double level = static_[task] - ready.start(row, worker) + (average_[task] - cost);
    return suits_.empty() ? level : level + suits_[task * workers_ + worker];
  }

 private:
  void consider_descendants(const Given &given) {
    suits_.resize(given.tasks * workers_);
    for (i64 task = 0; task < given.tasks; ++task) {
      const auto [begin, end] = given.rows_after(task);
      if (begin == end) continue;
      const i64 row = std::max_element(given.size + begin, given.size + end) - given.size;
      const i64 after = given.target[row];
      for (i64 worker = 0; worker < workers_; ++worker) {
        double least = NEVER;
        for (i64 other = 0; other < workers_; ++other) {
          const i64 pair = given.memory_of[worker] * given.memories + given.memory_of[other];
          const double sent = given.latency_s[pair] * given.copies[row] +
                              given.seconds_per_byte[pair] * given.size[row];
          least = std::min(least, sent + given.cost_at(after, other));
        }
        suits_[task * workers_ + worker] = average_[after] - least;
      }
    }
  }

  const vector<double> average_, static_;
  const i64 workers_;
  vector<double> suits_;
};

void dls(Timetable &table, Numbers numbers) {
  const Levels levels(table.given, numbers[0] != 0.0, numbers[1] != 0.0);
  Frontier ready(table);
  while (ready.count())
    ready.place(ready.least(
        [&](i64 row, i64 worker) { return std::tuple(-levels.of(ready, row, worker)); }));
}

void gdl(Timetable &table, Numbers numbers) {
  const Levels levels(table.given, numbers[0] != 0.0, numbers[1] != 0.0);
  Frontier ready(table);
  while (ready.count()) {
    std::tuple<double, i64, i64> chosen{NEVER, 0, 0};
    for (i64 row = 0; row < ready.count(); ++row) {
      double best = -NEVER, second = -NEVER;
      i64 preferred = 0;
      for (i64 worker = 0; worker < table.given.workers; ++worker) {
        const double level = levels.of(ready, row, worker);
        if (level > best) preferred = worker;
        second = std::max(second, std::min(best, level));
        best = std::max(best, level);
      }
      const double lost = second > -NEVER ? best - second : 0.0;
      chosen = std::min(chosen, {-(best + lost), ready.tasks[row], preferred});
    }
    ready.place({std::get<1>(chosen), std::get<2>(chosen)});
  }
}

void sufferage(Timetable &table, Numbers) {
  Frontier ready(table);
  vector<double> loss;
  while (ready.count()) {
    const auto end = [&](i64 row, i64 worker) {
      return ready.start(row, worker) + ready.cost(row, worker);
    };
    loss.clear();
    for (i64 row = 0; row < ready.count(); ++row) {
      double first = NEVER, second = NEVER;
      for (i64 worker = 0; worker < table.given.workers; ++worker) {
        second = std::min(second, std::max(first, end(row, worker)));
        first = std::min(first, end(row, worker));
      }
      loss.push_back(second < NEVER ? second - first : 0.0);
    }
    ready.place(ready.least(
        [&](i64 row, i64 worker) { return std::tuple(-loss[row], end(row, worker)); }));
  }
}

void wba(Timetable &table, Numbers numbers) {
  const double alpha = numbers[0];
  const double *draw = numbers.data() + 1;
  Frontier ready(table);
  vector<std::pair<i64, i64>> pairs;
  while (ready.count()) {
    const double makespan = *std::max_element(table.free.begin(), table.free.end());
    const auto growth = [&](i64 row, i64 worker) {
      const double end = ready.start(row, worker) + ready.cost(row, worker);
      return end < NEVER ? std::max(end - makespan, 0.0) : NEVER;
    };
    double least = NEVER, most = 0.0;
    for (i64 row = 0; row < ready.count(); ++row)
      for (i64 worker = 0; worker < table.given.workers; ++worker)
        if (const double grown = growth(row, worker); grown < NEVER) {
          least = std::min(least, grown);
          most = std::max(most, grown);
        }
    const double limit = least + alpha * (most - least);
    pairs.clear();
    for (i64 row = 0; row < ready.count(); ++row)
      for (i64 worker = 0; worker < table.given.workers; ++worker)
        if (growth(row, worker) <= limit) pairs.emplace_back(ready.tasks[row], worker);
    std::sort(pairs.begin(), pairs.end());
    ready.place(pairs[static_cast<std::size_t>(*draw++ * static_cast<double>(pairs.size()))]);
  }
}

// The last messages that tasks wait for, at the mean time of communication.
class Messages {
 public:
  explicit Messages(const Timetable &table)
      : table_(table), sent_(mean_communication(table.given, true)) {}

  // When the last message comes, and the worker from which; -1 if there is none.
  std::pair<double, i64> last(i64 task) const {
    std::pair<double, i64> found{0.0, -1};
    for (const i64 row : table_.given.rows_before(task)) {
      const i64 source = table_.given.source[row];
      const double arrival = table_.end(source) + sent_[row];
      if (arrival > found.first || found.second < 0) found = {arrival, table_.worker(source)};
    }
    return found;
  }

 private:
  const Timetable &table_;
  const vector<double> sent_;
};

// The worker that is free first among those with finite *starts*.
i64 free_first(const Timetable &table, const vector<double> &starts) {
  i64 best = -1;
  for (i64 worker = 0; worker < table.given.workers; ++worker)
    if (starts[worker] < NEVER && (best < 0 || table.free[worker] < table.free[best]))
      best = worker;
  return best;
}

void fcp(Timetable &table, Numbers numbers) {
  const Given &given = table.given;
  const auto order = by_rank(upward_ranks(given));
  vector<i64> place(given.tasks);
  for (i64 k = 0; k < given.tasks; ++k) place[order[k]] = k;
  const auto size = static_cast<std::size_t>(numbers[0] != 0.0 ? numbers[0]
                                             : static_cast<double>(given.workers));
  Frontier ready(table);
  const Messages messages(table);
  std::set<std::pair<i64, i64>> urgent;  // by place
  vector<i64> found(ready.tasks);
  std::deque<i64> waiting;
  while (ready.count()) {
    std::sort(found.begin(), found.end());
    waiting.insert(waiting.end(), found.begin(), found.end());
    for (; !waiting.empty() && urgent.size() < size; waiting.pop_front())
      urgent.emplace(place[waiting.front()], waiting.front());
    const i64 task = urgent.begin()->second;
    urgent.erase(urgent.begin());
    const auto &starts = table.starts(task);
    const i64 free = free_first(table, starts), enabling = messages.last(task).second;
    ready.place({task, enabling < 0 || starts[free] <= starts[enabling] ? free : enabling});
    found.clear();
    for (const i64 after : given.after(task))
      if (!ready.waiting[after]) found.push_back(after);
  }
}

void flb(Timetable &table, Numbers) {
  const auto level = upward_ranks(table.given);
  Frontier ready(table);
  const Messages messages(table);
  vector<std::optional<std::pair<double, i64>>> last(table.given.tasks);
  using Tied = std::tuple<double, double, i64, i64>;
  using Other = std::tuple<double, double, i64>;
  while (ready.count()) {
    std::optional<Tied> tied;
    std::optional<Other> other;
    for (const i64 task : ready.tasks) {
      if (!last[task]) last[task] = messages.last(task);
      const auto [arrival, worker] = *last[task];
      const double start = worker < 0 ? NEVER : table.starts(task)[worker];
      if (start < NEVER && arrival >= table.free[worker]) {
        const Tied found{start, -level[task], task, worker};
        tied = tied ? std::min(*tied, found) : found;
      } else {
        const Other found{arrival, -level[task], task};
        other = other ? std::min(*other, found) : found;
      }
    }
    std::pair<i64, i64> chosen;
    double start = NEVER;
    if (other) {
      const i64 task = std::get<2>(*other);
      const auto &starts = table.starts(task);
      chosen = {task, free_first(table, starts)};
      start = starts[chosen.second];
    }
    if (tied && std::get<0>(*tied) < start) chosen = {std::get<2>(*tied), std::get<3>(*tied)};
    ready.place(chosen);
  }
}

// Per task and worker, the least time from its start there to the end of the graph.
vector<double> best_imaginary_levels(const Given &given) {
  const i64 workers = given.workers;
  const auto sent = mean_communication(given, true);
  vector<double> level(given.tasks * workers);
  for (i64 task = given.tasks; task--;)
    for (i64 worker = 0; worker < workers; ++worker) {
      const auto [begin, end] = given.rows_after(task);
      double most = begin < end ? -NEVER : 0.0;
      for (i64 row = begin; row < end; ++row) {
        double least = NEVER;
        for (i64 other = 0; other < workers; ++other) {
          const bool apart = given.memory_of[worker] != given.memory_of[other];
          const double after = level[given.target[row] * workers + other];
          least = std::min(least, after + (apart ? sent[row] : 0.0));
        }
        most = std::max(most, least);
      }
      level[task * workers + worker] = given.cost_at(task, worker) + most;
    }
  return level;
}

void bil(Timetable &table, Numbers) {
  const i64 workers = table.given.workers;
  const auto level = best_imaginary_levels(table.given);
  Frontier ready(table);
  vector<double> ordered(workers), key(workers), best(workers), others(workers);
  while (ready.count()) {
    const i64 count = ready.count();
    const double queued =
        std::max(static_cast<double>(count) / static_cast<double>(workers) - 1.0, 0.0);
    const auto revised = [&](i64 row, i64 worker) {
      const double cost = ready.cost(row, worker);
      const double imagined = table.free[worker] + level[ready.tasks[row] * workers + worker];
      return cost < NEVER ? imagined + cost * queued : NEVER;
    };
    i64 chosen = -1;
    std::fill(others.begin(), others.end(), 0.0);
    for (i64 row = 0; row < count; ++row) {
      i64 finite = 0;
      for (i64 worker = 0; worker < workers; ++worker) {
        ordered[worker] = table.free[worker] + level[ready.tasks[row] * workers + worker];
        finite += ordered[worker] < NEVER;
        if (const double more = revised(row, worker); more < NEVER) others[worker] += more;
      }
      std::sort(ordered.begin(), ordered.end());
      for (i64 back = 0; back < workers; ++back)
        key[back] = -ordered[std::max(std::min(count, finite) - 1 - back, i64{0})];
      if (chosen < 0 || key < best || (key == best && ready.tasks[row] < ready.tasks[chosen])) {
        chosen = row;
        best = key;
      }
    }
    std::tuple<double, double, i64> least{NEVER, NEVER, 0};
    for (i64 worker = 0; worker < workers; ++worker) {
      const double end = revised(chosen, worker);
      const double rest = others[worker] - (end < NEVER ? end : 0.0);
      least = std::min(least, {end, -rest, worker});
    }
    ready.place({ready.tasks[chosen], std::get<2>(least)});
  }
}

struct Planner {
  std::string_view name;
  void (*plan)(Timetable &, Numbers);
  std::size_t numbers;
  bool gaps;
  bool draws = false;  // one more number per task
};
constexpr Planner PLANNERS[] = {
    {"heft", heft, 0, true},         {"cpop", cpop, 0, true},
    {"peft", peft, 0, true},         {"min-min", min_min, 1, false},
    {"max-min", max_min, 1, false},  {"mct", mct, 0, false},
    {"olb", olb, 0, false},          {"met", met, 1, false},
    {"fastest-node", fastest_node, 0, false},
    {"etf", etf, 0, false},          {"dls", dls, 2, false},
    {"gdl", gdl, 2, false},          {"sufferage", sufferage, 0, false},
    {"wba", wba, 1, false, true},    {"fcp", fcp, 1, false},
    {"flb", flb, 0, false},          {"bil", bil, 0, false},
};

bool all_below(const i64 *values, i64 count, i64 limit) {
  return std::all_of(values, values + count, [&](i64 n) { return n >= 0 && n < limit; });
}

bool is_finite(const double *values, i64 count) {
  return std::all_of(values, values + count, [](double value) { return std::isfinite(value); });
}

bool ascends(const i64 *ptr, i64 rows, i64 total) {
  return ptr[0] == 0 && ptr[rows] == total && std::is_sorted(ptr, ptr + rows + 1);
}

bool legal(const Given &given) {
  if (given.tasks < 1 || given.workers < 1 || given.classes < 1 || given.memories < 1) return false;
  const i64 pairs = given.memories * given.memories;
  if (!all_below(given.class_of, given.workers, given.classes) ||
      !all_below(given.memory_of, given.workers, given.memories) ||
      !is_finite(given.latency_s, pairs) || !is_finite(given.seconds_per_byte, pairs))
    return false;
  const double *cost = given.cost;
  if (!std::all_of(cost, cost + given.tasks * given.classes, [](double c) { return c >= 0.0; }))
    return false;
  for (i64 task = 0; task < given.tasks; ++task) {
    bool able = false;
    for (i64 worker = 0; worker < given.workers && !able; ++worker)
      able = given.cost_at(task, worker) < NEVER;
    if (!able) return false;
  }
  if (!ascends(given.ptr, given.tasks, given.edges) ||
      !ascends(given.target_ptr, given.tasks, given.edges) ||
      !all_below(given.by_target, given.edges, given.edges) ||
      !is_finite(given.copies, given.edges) || !is_finite(given.size, given.edges))
    return false;
  for (i64 task = 0; task < given.tasks; ++task) {
    const auto [begin, end] = given.rows_after(task);
    for (i64 row = begin; row < end; ++row)
      if (given.source[row] != task || given.target[row] <= task ||
          given.target[row] >= given.tasks)
        return false;
    for (const i64 row : given.rows_before(task))
      if (given.target[row] != task) return false;
  }
  if (!all_below(given.initial_task, given.initials, given.tasks) ||
      !all_below(given.initial_home, given.initials, given.memories) ||
      !is_finite(given.initial_size, given.initials))
    return false;
  if (!given.commuting_ptr) return true;
  const i64 accesses = given.commuting_ptr[given.tasks];
  return ascends(given.commuting_ptr, given.tasks, accesses) &&
         all_below(given.commuting_handle, accesses, given.handles);
}

bool are_numbers(const Planner &planner, const Given &given, Numbers numbers) {
  const auto draws = planner.draws ? static_cast<std::size_t>(given.tasks) : 0;
  if (numbers.size() != planner.numbers + draws || !is_finite(numbers.data(), numbers.size()))
    return false;
  return std::all_of(numbers.begin(), numbers.end(), [](double n) { return n >= 0.0 && n < 0x1p31; })
         && std::all_of(numbers.end() - draws, numbers.end(), [](double n) { return n < 1.0; });
}

}  // namespace

}  // namespace tasksim::planning

int32_t tasksim_plan(const tasksim_planning *problem, const char *name, const double *numbers,
                     int64_t count, const tasksim_plan_made *made) {
  using namespace tasksim::planning;
  try {
    const auto planner = std::find_if(std::begin(PLANNERS), std::end(PLANNERS),
                                      [&](const Planner &each) { return each.name == name; });
    if (planner == std::end(PLANNERS)) return TASKSIM_UNKNOWN;
    const Given given(*problem);
    const Numbers options(numbers, static_cast<std::size_t>(count));
    if (!legal(given) || !are_numbers(*planner, given, options)) return TASKSIM_BAD_ARRAYS;
    Timetable table(given, *made, planner->gaps);
    planner->plan(table, options);
    return TASKSIM_DONE;
  } catch (const Interrupted &) {
    return TASKSIM_MORE;
  } catch (const std::bad_alloc &) {
    return TASKSIM_NO_MEMORY;
  }
}
