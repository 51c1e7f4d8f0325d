// Ledger: the life of every task of a run, from its submission to its end (runtime/ledger.py).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "../problem.h"

namespace tasksim {

enum State : std::int8_t { WAITING, READY, TAKEN, DONE };

// A rule that was broken, or an end that is none: what the caller is told.
struct Broken {
  tasksim_status status;
  i64 task = -1, worker = -1, number = 0;
};

// The states of all tasks, the legal moves between them, who made them and when. Times are in the
// clock's unit while it runs, in seconds when closed.
class Ledger {
 public:
  Ledger(const Graph &graph, const Platform &platform, const std::vector<u64> &able)
      : able_(able), platform_(platform) {
    const auto tasks = static_cast<std::size_t>(graph.tasks);
    state.assign(tasks, WAITING);
    worker.assign(tasks, -1);
    released_by.assign(tasks, -1);
    submitted.assign(tasks, 0.0);
    ready.assign(tasks, 0.0);
    popped.assign(tasks, std::numeric_limits<double>::quiet_NaN());
    start.assign(tasks, 0.0);
    end.assign(tasks, 0.0);
  }

  void release(int task, double now, int by) {
    if (state[task] != WAITING) throw Broken{TASKSIM_BUG, task};
    state[task] = READY;
    ready[task] = now;
    released_by[task] = by;
  }

  // *worker* takes what the scheduler gave it: the only check of a pop.
  int take(i64 task, int taker) {
    if (task < 0 || task >= static_cast<i64>(state.size()) || state[task] != READY ||
        !(able_[task] >> platform_.class_of[taker] & 1))
      throw Broken{TASKSIM_ILLEGAL_POP, task, taker};
    state[task] = TAKEN;
    worker[task] = taker;
    ++taken_;
    return static_cast<int>(task);
  }

  void finish(int task) {
    if (state[task] != TAKEN) throw Broken{TASKSIM_BUG, task};
    state[task] = DONE;
    --taken_;
    ++done_;
  }

  bool over() const { return done_ == static_cast<i64>(state.size()); }
  bool idle() const { return all_submitted && !taken_; }

  // How many moves there were: with each, something has happened.
  i64 moves() const {
    i64 sum = 0;
    for (const auto each : state) sum += each;
    return sum;
  }

  void close(double units_per_s) {
    if (units_per_s == 1.0) return;
    for (auto *column : {&submitted, &ready, &popped, &start, &end})
      for (double &time : *column) time /= units_per_s;
  }

  bool all_submitted = false;
  std::vector<State> state;
  std::vector<std::int32_t> worker, released_by;
  std::vector<double> submitted, ready, popped, start, end;

 private:
  const std::vector<u64> &able_;
  const Platform &platform_;
  i64 taken_ = 0, done_ = 0;
};

// Per task a mask of the classes where its cost is finite; throws Broken for the first that none can
// run.
inline std::vector<u64> able_classes(const Graph &graph, const Platform &platform,
                                     const double *costs) {
  std::vector<u64> able(graph.tasks, 0);
  for (int group = 0; group < platform.classes; ++group)
    for (int task = 0; task < graph.tasks; ++task)
      if (std::isfinite(costs[i64{group} * graph.tasks + task])) able[task] |= u64{1} << group;
  for (int task = 0; task < graph.tasks; ++task)
    if (!able[task]) throw Broken{TASKSIM_NOBODY, task};
  return able;
}

// Counts pops that gave nothing; throws when they never will give anything (runtime/livelock.py).
class Patience {
 public:
  Patience(const Ledger &ledger, int workers, int tasks)
      : left(std::max({i64{1000}, i64{10} * workers, i64{tasks} / 10})),
        ledger_(ledger),
        limit_(left) {}

  void look(double now_s, bool idle) {
    if (ledger_.over()) throw Broken{TASKSIM_DONE};
    const i64 moves = ledger_.moves();
    if (moves == seen_moves_ && (now_s == seen_s_ || idle))
      throw Broken{TASKSIM_LIVELOCK, -1, -1, limit_};
    seen_moves_ = moves;
    seen_s_ = now_s;
    left = limit_;
  }

  i64 left;

 private:
  const Ledger &ledger_;
  i64 limit_;
  i64 seen_moves_ = -1;
  double seen_s_ = -1.0;
};

}  // namespace tasksim
