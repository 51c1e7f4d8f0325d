// Region: the flows around a change, as few as their shares allow (engine/cluster/shares.py).
#pragma once

#include "flow.h"

namespace tasksim::cluster {

// Shares links again among flows; it reuses its memory.
class Region {
 public:
  explicit Region(std::vector<Link> &links) : links_(links) {}

  void add(Flow &flow);

  // Shares links again among the added flows and those that have to join them: all of them in
  // order, with their next shares in *settled*.
  const std::vector<Flow *> &settle();
  void clear();

 private:
  void share_out();
  double left_of(int place) const;
  void join(int place);

  std::vector<Link> &links_;
  Filling filling_;
  std::vector<Flow *> flows_;
  std::vector<double> levels_;  // their next levels
  i64 looked_ = 0;              // number of fillings so far
};

}  // namespace tasksim::cluster
