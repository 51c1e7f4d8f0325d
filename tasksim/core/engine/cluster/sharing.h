// Sharing of cores: nodes that are ranks of one machine with fewer cores than workers
// (engine/cluster/sharing.py).
#pragma once

#include <vector>

#include "../heap.h"
#include "../machine/node.h"

namespace tasksim::cluster {

// Cores on which workers of several nodes run their tasks, all at the same rate.
class SharedCores : public Rated, public Awaiting {
 public:
  SharedCores(Clock &clock, i64 cores) : clock_(clock), cores_(cores) {}

  Steps<> run(i64 ticks, Routine &routine) override;
  void happen(i64 tick) override;  // the task with the first end has ended

 private:
  struct Running {
    double end;  // the work done at its end
    i64 number;  // order of the starts
    Routine *routine;
    bool *over;

    bool before(const Running &other) const {
      return end != other.end ? end < other.end : number < other.number;
    }
  };

  void come_to_now();
  void set_rate();

  Clock &clock_;
  const i64 cores_;
  Heap<Running> running_;
  double done_ = 0.0;  // work of a task that has run since the start
  double rate_ = 1.0;
  i64 since_ = 0;
  i64 count_ = 0;    // tasks so far
  i64 running_now_ = 0;
  i64 alarm_ = -1;   // the tick of the first end; none
};

}  // namespace tasksim::cluster
