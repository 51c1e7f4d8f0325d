#include "region.h"

#include <algorithm>

namespace tasksim::cluster {

namespace {

constexpr double SLACK = 1 + 1e-12;     // sums are rounded (engine/cluster/flows.py)
constexpr double TOLERANCE = 1e-11;     // the rounding of sums of ten thousand flows

}  // namespace

Region::Region(std::span<const double> capacity, const std::vector<Link> &links)
    : capacity_(capacity), links_(links), filling_(capacity.size()), seen_(capacity.size(), 0) {}

void Region::add(Flow &flow) {
  if (flow.inside) return;
  flow.inside = true;
  flows_.push_back(&flow);
}

void Region::clear() {
  for (Flow *flow : flows_) flow->inside = false;
  flows_.clear();
}

bool Region::can_be_full(int link) const {
  return links_[link].demand > capacity_[link] * SLACK;
}

const std::vector<Flow *> &Region::settle() {
  for (;;) {
    std::sort(flows_.begin(), flows_.end(),
              [](const Flow *one, const Flow *other) { return one->number < other->number; });
    find_links();
    left_.clear();
    for (const int link : full_) left_.push_back(left_of(link));
    claims_.clear();
    for (const Flow *flow : flows_) claims_.push_back(flow->way);
    filling_.fill(claims_, full_, left_);
    for (std::size_t k = 0; k < flows_.size(); ++k) {
      flows_[k]->settled = filling_.shares()[k];
      flows_[k]->stop = filling_.stops()[k];
    }
    const std::size_t size = flows_.size();
    for (const int link : full_) join(link, filling_.left(link) > capacity_[link] * TOLERANCE);
    if (flows_.size() == size) return flows_;
  }
}

void Region::find_links() {
  full_.clear();
  for (const Flow *flow : flows_)
    for (const Use &use : flow->way->uses)
      if (!seen_[use.link] && can_be_full(use.link)) {
        seen_[use.link] = 1;
        full_.push_back(use.link);
      }
  for (const int link : full_) seen_[link] = 0;
  std::sort(full_.begin(), full_.end());
}

double Region::left_of(int link) const {
  double left = capacity_[link];
  for (const auto &[flow, of_byte] : links_[link].on)
    if (!flow->inside) left -= of_byte * flow->share;
  return std::max(0.0, left);
}

// Adds the flows on *link* that cannot stay as they are beside those that were shared.
void Region::join(int link, bool slack) {
  double lowest = INF, highest = 0.0;
  for (const int k : filling_.on(link)) {
    const Flow &flow = *flows_[k];
    const double level = flow.settled / flow.way->weight;
    highest = std::max(highest, level);
    if (flow.stop == link) lowest = std::min(lowest, level);
  }
  lowest *= 1 + TOLERANCE;
  highest *= 1 - TOLERANCE;
  for (const auto &taken : links_[link].on) {
    Flow &flow = *taken.flow;
    if (flow.inside) continue;
    const double level = flow.share / flow.way->weight;
    if (level > lowest || (flow.stop == link && (slack || level < highest))) {
      flow.settled = flow.share;
      add(flow);
    }
  }
}

}  // namespace tasksim::cluster
