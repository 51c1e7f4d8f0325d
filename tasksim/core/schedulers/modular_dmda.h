// modular-dmda and its relatives: expected ends, decided at push, in a tree of components
// (schedulers/modular_dmda.py).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "energy.h"
#include "line.h"
#include "modular_expected.h"
#include "modular_queue.h"
#include "scheduler.h"

namespace tasksim {

class ModularDmda : public Scheduler {
 public:
  ModularDmda(const Options &options, Order order)
      : options_(options),
        alpha_(options.number("alpha")),
        beta_(options.number("beta")),
        order_(order) {}

  void attach(View &given) override;
  void push(int task) override { place(task); }
  int pop(int worker) override;
  void started(int task, int worker) override;
  void finished(int task, int worker) override;

 protected:
  // Decides for *task* and queues it; whether the queue took it.
  bool place(int task);

  // A task has left the queue of *worker*, and is not yet in its hands.
  virtual void left(int /*worker*/) {}
  virtual bool full(int /*worker*/, double /*duration*/) const { return false; }

  std::vector<WorkerQueue> queues_;
  std::vector<Expected> expected_;

 private:
  // A class's best worker: the end of the task there, its transfer, its duration, the number.
  struct Candidate {
    double end, transfer, duration;
    int worker;
    double charge;  // what its energy costs
  };
  struct Earliest {
    double start;
    int worker;
  };

  int pull(int worker);
  double transfer(int task, int memory);
  bool find_ends(int task, double now);
  Earliest earliest(std::span<const int> workers, double now, double arrival);
  Candidate best(double now);
  void place_unknown(int task);

  Options options_;
  double alpha_, beta_;
  std::optional<EnergyWeights> energy_;
  Order order_;
  bool several_ = false;                       // workers have different memories
  std::vector<Line<int>> own_;                 // per worker, tasks whose duration is not known
  std::vector<i64> gone_;                      // how many of them went there
  std::vector<double> durations_, transfers_;  // per task
  std::vector<Candidate> ends_;                // of the task at hand
};

}  // namespace tasksim
