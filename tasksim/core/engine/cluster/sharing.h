// Sharing of cores: nodes that are ranks of one machine, which has fewer cores than they have workers
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
  void happen(i64 tick) override;  // the task that was to end first has ended

 private:
  struct Running {
    double end;  // what will be done then
    i64 number;  // the order of beginning
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
  double done_ = 0.0;  // the work that a task has had that has been running since the start
  double rate_ = 1.0;
  i64 since_ = 0;
  i64 count_ = 0;    // of all that have begun
  i64 running_now_ = 0;
  i64 alarm_ = -1;   // the tick of the first end; none
};

}  // namespace tasksim::cluster
