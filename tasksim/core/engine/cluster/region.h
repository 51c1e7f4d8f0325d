// Region: the flows around a change, as few as their shares allow (engine/cluster/region.py).
#pragma once

#include "flow.h"

namespace tasksim::cluster {

// Shares links anew among flows; it keeps its room from one time to the next.
class Region {
 public:
  Region(std::span<const double> capacity, const std::vector<Link> &links);

  void add(Flow &flow);
  bool can_be_full(int link) const;

  // Shares anew among the flows that were added, and those that have to join them: all of them, in
  // order, with what they are to get in *settled*.
  const std::vector<Flow *> &settle();
  void clear();

 private:
  void find_links();
  double left_of(int link) const;
  void join(int link, bool slack);

  std::span<const double> capacity_;
  const std::vector<Link> &links_;
  Filling filling_;
  std::vector<Flow *> flows_;
  std::vector<const Way *> claims_;
  std::vector<int> full_;    // the links that can be full, ascending
  std::vector<double> left_; // of each of these, what the flows that stay as they are leave
  std::vector<char> seen_;   // per link
};

}  // namespace tasksim::cluster
