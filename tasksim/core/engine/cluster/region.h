// Region: the flows around a change, as few as their shares allow (engine/cluster/shares.py).
#pragma once

#include "flow.h"

namespace tasksim::cluster {

// Shares links anew among flows; it keeps its room from one time to the next.
class Region {
 public:
  explicit Region(std::vector<Link> &links) : links_(links) {}

  void add(Flow &flow);

  // Shares anew among the flows that were added, and those that have to join them: all of them, in
  // order, with what they are to get in *settled*.
  const std::vector<Flow *> &settle();
  void clear();

 private:
  void share_out();
  double left_of(int place) const;
  void join(int place);

  std::vector<Link> &links_;
  Filling filling_;
  std::vector<Flow *> flows_;
  std::vector<double> levels_;  // that they are to have
  i64 looked_ = 0;              // how often shares were filled
};

}  // namespace tasksim::cluster
