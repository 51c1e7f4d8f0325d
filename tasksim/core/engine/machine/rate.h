// Rate of tasks whose neighbours slow them down: remaining work, timed again when neighbours change
// (engine/machine/rate.py).
#pragma once

#include <vector>

#include "../routine.h"
#include "../slowing.h"

namespace tasksim {

class Rate {
 public:
  Rate(Clock &clock, const tasksim_contention &given, const Graph &graph,
       const Platform &platform);
  Rate(const Rate &) = delete;
  Rate &operator=(const Rate &) = delete;

  // Starts *task* on *worker*, with *routine*; alone it takes *ticks*. Returns whether it may be
  // slowed: then the worker sleeps until its end, else it waits for *ticks*.
  bool begin(int task, int worker, i64 work, Routine &routine);
  bool over(int worker) const { return over_[worker]; }

 private:
  static constexpr i64 NEVER = std::numeric_limits<i64>::max();

  // A worker's task: the remaining ticks of work at *since*, and its stretch from then on.
  struct Running {
    int kind, worker;
    double remaining, stretch;
    i64 since, begun;  // begun: a number that rises from task to task
    Routine *routine;
  };

  // The tasks in a memory domain: number of each kind, and per worker its task. Tasks do not move
  // when others end, and ends lie side by side, as each start and end visits all of them.
  struct Domain : Awaiting {
    void happen(i64 when) override { rate->on_alarm(*this, when); }

    Rate *rate;
    int number;
    std::vector<int> counts, known_counts;
    std::vector<double> stretches;  // per kind, for the counts so far
    std::vector<Running> running;   // per worker of the domain
    std::vector<i64> end;           // the same; NEVER: no task, or unknown yet
    std::vector<int> fresh;         // places of started tasks without an end yet
    i64 alarm = NEVER;
    bool changed = false;
  };

  struct Settling : Awaiting {
    explicit Settling(Rate &rate) : rate(rate) {}
    void happen(i64) override { rate.settle(); }
    Rate &rate;
  };

  void settle_soon(Domain &domain);
  void settle();
  void retime(Domain &domain);
  void retime(Domain &domain, int place);
  void set_alarm(Domain &domain);
  void on_alarm(Domain &domain, i64 when);

  Clock &clock_;
  const Slowing slowing_;
  const Graph &graph_;
  const Platform &platform_;
  Settling settling_;
  std::vector<Domain> domains_;
  std::vector<char> over_;   // per worker, whether its task is over
  std::vector<int> place_;   // per worker, its place in its domain
  i64 begun_ = 0;            // tasks so far
  std::vector<Domain *> changed_, settled_;
  std::vector<int> ended_;   // places of the tasks that end at an instant
};

}  // namespace tasksim
