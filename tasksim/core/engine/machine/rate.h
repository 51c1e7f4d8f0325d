// Rate of tasks whose neighbours slow them down: remaining work, timed again whenever those change
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

  // Lets *worker*, whose *routine* this is, begin *task*, which alone takes so many ticks; it then
  // sleeps until that is over. Whether it is slowed at all: else it waits for as long.
  bool begin(int task, int worker, i64 work, Routine &routine);
  bool over(int worker) const { return over_[worker]; }

 private:
  static constexpr i64 NEVER = std::numeric_limits<i64>::max();

  // What a worker runs: the ticks of work that remained *since*, and its stretch from then on.
  struct Running {
    int kind, worker;
    double remaining, stretch;
    i64 since, begun;  // the last is a number that rises from task to task
    Routine *routine;
  };

  // What runs in a memory domain: how many of each kind, and per worker its task. Tasks do not move
  // as others end, and ends lie side by side, as each start and end goes through all of them.
  struct Domain : Awaiting {
    void happen(i64 when) override { rate->on_alarm(*this, when); }

    Rate *rate;
    int number;
    std::vector<int> counts, known_counts;
    std::vector<double> stretches;  // per kind, of the counts that are known
    std::vector<Running> running;   // per worker of the domain
    std::vector<i64> end;           // likewise; NEVER: it runs nothing, or it is not known yet
    std::vector<int> fresh;         // the places of tasks that have begun, and have no end yet
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
  std::vector<char> over_;   // per worker, whether what it runs is
  std::vector<int> place_;   // per worker, among those of its domain
  i64 begun_ = 0;            // tasks so far
  std::vector<Domain *> changed_, settled_;
  std::vector<int> ended_;   // the places of those that end at an instant
};

}  // namespace tasksim
