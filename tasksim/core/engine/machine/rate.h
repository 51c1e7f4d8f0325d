// Rate of tasks whose neighbours slow them down: remaining work, timed again when neighbours change
// (engine/machine/rate.py).
#pragma once

#include <vector>

#include <memory>

#include "../numa.h"
#include "../routine.h"
#include "../slowing.h"
#include "traffic.h"

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

  // Writes the bytes that tasks of each domain accessed in the memory of each, and the ticks by
  // which they took longer than with all data in their own; nothing where memory is uniform.
  void write(double *accessed_bytes, double *extra_s) const;

 private:
  static constexpr i64 NEVER = std::numeric_limits<i64>::max();

  // A worker's task: the remaining ticks of work at *since*, and its stretch from then on.
  struct Running {
    int kind, worker;
    double remaining, stretch;
    i64 since, begun;  // begun: a number that rises from task to task
    Routine *routine;
    double local = 0.0;  // stretch with all data in its own domain, where memory is non-uniform
  };

  // What only machines with non-uniform memory have: their tasks are settled all together.
  struct Numa {
    Numa(const Slowing &slowing, const Graph &graph, int workers)
        : homes(slowing, graph),
          traffic(slowing),
          shares(i64{workers} * slowing.domains),
          extra_ticks(slowing.domains) {}

    Homes homes;
    Traffic traffic;
    std::vector<double> shares;       // workers x domains, of the accesses of each one's task
    std::vector<double> extra_ticks;  // per domain, as in write
    std::vector<Placed> running;
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
  void retime_all(Domain &domain);
  void account(const Running &running, i64 now);
  Domain &domain_of(int worker) { return domains_[numa_ ? 0 : slowing_.domain_of[worker]]; }
  std::span<double> shares_of(int worker) {
    const std::size_t domains = slowing_.domains;
    return std::span(numa_->shares).subspan(worker * domains, domains);
  }
  void set_alarm(Domain &domain);
  void on_alarm(Domain &domain, i64 when);

  Clock &clock_;
  const Slowing slowing_;
  std::unique_ptr<Numa> numa_;  // null: memory is uniform
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
