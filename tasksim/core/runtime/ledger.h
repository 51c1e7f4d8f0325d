// Ledger: the life of every task of a run, from its submission to its end (runtime/ledger.py).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "../problem.h"

namespace tasksim {

enum State : std::int8_t { WAITING, READY, TAKEN, DONE };

// A broken rule, or an end of the run that is no success, for the caller.
struct Broken {
  tasksim_status status;
  i64 task = -1, worker = -1, number = 0;
};

// The record of a task in one cache line, as all of it is used together.
struct alignas(64) Life {
  double submitted = 0.0, ready = 0.0;
  double popped = std::numeric_limits<double>::quiet_NaN();  // if it is not noted
  double start = 0.0, end = 0.0;
  std::int32_t worker = -1, released_by = -1;
  std::int32_t place = 0;  // among the taken tasks
  State state = WAITING;
  std::int32_t hint_wait = -1;  // a hint that waits for its end
};

// The states of all tasks, the legal moves between them, and the worker and time of each move.
// Times are in the clock's unit during the run.
class Ledger {
 public:
  Ledger(const Graph &graph, const Platform &platform, const std::vector<u64> &able)
      : of(graph.tasks), able_(able), platform_(platform) {}

  void release(int task, double now, int by) {
    Life &life = of[task];
    if (life.state != WAITING) throw Broken{TASKSIM_BUG, task};
    life.state = READY;
    life.ready = now;
    life.released_by = by;
  }

  // *taker* takes the task that the scheduler gave it: the only check of a pop.
  int take(i64 task, int taker) {
    if (task < 0 || task >= static_cast<i64>(of.size()) || of[task].state != READY ||
        !(able_[task] >> platform_.class_of[taker] & 1))
      throw Broken{TASKSIM_ILLEGAL_POP, task, taker};
    of[task].worker = taker;
    hand_over(static_cast<int>(task));
    return static_cast<int>(task);
  }

  // Starts *task*, which is ready; if nobody has taken it, on no worker.
  void hand_over(int task) {
    of[task].state = TAKEN;
    of[task].place = static_cast<std::int32_t>(taken.size());
    taken.push_back(static_cast<std::int32_t>(task));
  }

  void finish(int task) {
    if (of[task].state != TAKEN) throw Broken{TASKSIM_BUG, task};
    of[task].state = DONE;
    const int last = taken.back();  // fills its place
    taken[of[last].place = of[task].place] = last;
    taken.pop_back();
    ++done_;
  }

  i64 done() const { return done_; }  // their number
  bool over() const { return done_ == static_cast<i64>(of.size()); }
  bool idle() const { return all_submitted && taken.empty(); }

  // The number of moves so far: a change shows that something has happened.
  i64 moves() const {
    i64 sum = 0;
    for (const Life &life : of) sum += life.state;
    return sum;
  }

  // Writes *columns*, with times in seconds; *units_per_s* is the unit of the clock.
  void write(const tasksim_tasks &columns, double units_per_s) const {
    for (std::size_t task = 0; task < of.size(); ++task) {
      const Life &life = of[task];
      if (columns.submitted_s) columns.submitted_s[task] = life.submitted / units_per_s;
      if (columns.ready_s) columns.ready_s[task] = life.ready / units_per_s;
      if (columns.popped_s) columns.popped_s[task] = life.popped / units_per_s;
      if (columns.start_s) columns.start_s[task] = life.start / units_per_s;
      if (columns.end_s) columns.end_s[task] = life.end / units_per_s;
      if (columns.worker) columns.worker[task] = life.worker;
      if (columns.released_by) columns.released_by[task] = life.released_by;
      if (columns.state) columns.state[task] = life.state;
    }
  }

  bool all_submitted = false;
  std::vector<Life> of;             // per task
  std::vector<std::int32_t> taken;  // taken tasks that are not done

 private:
  const std::vector<u64> &able_;
  const Platform &platform_;
  i64 done_ = 0;
};

// Per task a mask of the classes where its cost is finite; throws Broken for the first task that no
// class can run.
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

// Counts pops without a task; throws when no pop will ever return one (runtime/livelock.py).
class Patience {
 public:
  Patience(const Ledger &ledger, int workers, int tasks)
      : left(std::max({i64{1000}, i64{10} * workers, i64{tasks} / 10})),
        ledger_(ledger),
        limit_(left) {}

  void look(double now_s, bool idle) { look(now_s, idle, ledger_.over()); }

  void look(double now_s, bool idle, bool over) {
    if (over) throw Broken{TASKSIM_DONE};
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
