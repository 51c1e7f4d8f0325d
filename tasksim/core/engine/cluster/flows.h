// Flows: messages in progress share the links of a network, weighted max-min fair
// (engine/cluster/flows.py).
#pragma once

#include <deque>
#include <vector>

#include "ends.h"
#include "region.h"

namespace tasksim::cluster {

// The costs of a message, computed before the clock starts.
struct Transfer {
  const Way *way;
  i64 latency;    // ticks
  double factor;  // bytes per byte of its share
  double bytes;   // with those that the network adds

  i64 alone() const;  // its duration in ticks on an empty network
};

class Flows : public Awaiting {
 public:
  Flows(Clock &clock, std::span<const double> capacity);

  // Sends *transfer*, then calls who.happen(value).
  void send(const Transfer &transfer, Awaiting &who, i64 value);

  void happen(i64 tick) override;  // the flow with the first end has ended
  void soon(i64 tick, int turns) const override;

 private:
  friend struct Flow;
  struct Settling : Awaiting {
    explicit Settling(Flows &flows) : flows(flows) {}
    void happen(i64) override { flows.settle(); }
    Flows &flows;
  };

  Flow &new_flow();
  void enter(Flow &flow);
  void leave(Flow &flow);
  void note_change(int link);
  void settle_soon();
  void settle();
  void find_touched();
  i64 end_of(const Flow &flow) const;
  void set_alarm();
  void send_for_links(const Flow &flow) const;
  void send_for_end(const Flow &flow, int turns) const;

  Clock &clock_;
  Settling settling_;
  std::deque<Flow> all_;
  std::vector<Flow *> free_;
  std::vector<Link> links_;
  Region region_;
  std::vector<int> changed_;   // links with flows that began or ended in this instant
  std::vector<Flow *> begun_;  // flows that began
  std::vector<Flow *> ended_;  // flows that end now
  Ends ends_;
  i64 count_ = 0;
  i64 alarm_ = -1;  // the tick of the first end; none
  bool soon_ = false;
};

}  // namespace tasksim::cluster
