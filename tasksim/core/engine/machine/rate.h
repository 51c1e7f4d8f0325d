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
    i64 since, end;
    Routine *routine;
  };

  // What runs in a memory domain: how many of each kind, and the tasks as they have begun, side by
  // side, as each start and end goes through all of them.
  struct Domain : Awaiting {
    void happen(i64 when) override { rate->on_alarm(*this, when); }

    Rate *rate;
    int number;
    std::vector<int> counts, known_counts;
    std::vector<double> stretches;  // per kind, of the counts that are known
    std::vector<Running> running;
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
  i64 retime(Domain &domain);
  void set_alarm(Domain &domain, i64 first);
  void on_alarm(Domain &domain, i64 when);

  Clock &clock_;
  const Slowing slowing_;
  const Graph &graph_;
  const Platform &platform_;
  Settling settling_;
  std::vector<Domain> domains_;
  std::vector<char> over_;  // per worker, whether what it runs is
  std::vector<Domain *> changed_, settled_;
  std::vector<Routine *> ended_;  // that are being woken, which begins no task at once
};

}  // namespace tasksim
