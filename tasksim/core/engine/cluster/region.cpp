#include "region.h"

#include <algorithm>

namespace tasksim::cluster {

namespace {

constexpr double LEVEL_TOLERANCE = 1e-11;     // rounding error of sums of ten thousand flows

}  // namespace

void Region::add(Flow &flow) {
  if (flow.inside) return;
  flow.inside = true;
  flows_.push_back(&flow);
}

void Region::clear() {
  for (Flow *flow : flows_) flow->inside = false;
  flows_.clear();
}

const std::vector<Flow *> &Region::settle() {
  for (;;) {
    std::sort(flows_.begin(), flows_.end(),
              [](const Flow *one, const Flow *other) { return one->number < other->number; });
    share_out();
    const std::size_t size = flows_.size();
    levels_.resize(size);
    for (std::size_t k = 0; k < size; ++k) {
      Flow &flow = *flows_[k];
      flow.settled = filling_.share(static_cast<int>(k));
      flow.stop = filling_.stop(static_cast<int>(k));
      levels_[k] = flow.settled / flow.way->weight;
    }
    for (int place = 0; place < filling_.links(); ++place) join(place);
    if (flows_.size() == size) return flows_;
  }
}

// Shares the capacity that the other flows leave on links that can be full.
void Region::share_out() {
  ++looked_;
  filling_.clear();
  for (const Flow *flow : flows_) __builtin_prefetch(flow->way);
  for (const Flow *flow : flows_) __builtin_prefetch(flow->way->uses.data());
  for (const Flow *flow : flows_) {
    filling_.add_claim(*flow->way);
    for (const Use &use : flow->way->uses) {
      Link &link = links_[use.link];
      if (link.looked_at != looked_) {
        link.looked_at = looked_;
        link.place = link.can_be_full() ? filling_.add_link(use.link) : -1;
      }
      if (link.place >= 0) filling_.add_use(link.place, use.of_byte);
    }
  }
  for (int place = 0; place < filling_.links(); ++place) filling_.set_left(place, left_of(place));
  filling_.fill();
}

double Region::left_of(int place) const {
  const Link &link = links_[filling_.link(place).number];
  double left = link.capacity;
  if (filling_.link(place).on.size() == link.on.size()) return left;
  for (const auto &[flow, of_byte] : link.on)
    if (!flow->inside) left -= of_byte * flow->share;
  return std::max(0.0, left);
}

// Adds the flows on a link that cannot keep their shares beside those that were shared again.
void Region::join(int place) {
  const Filling::Link &shared = filling_.link(place);
  const Link &link = links_[shared.number];
  if (shared.on.size() == link.on.size()) return;
  const bool slack = shared.left > link.capacity * LEVEL_TOLERANCE;
  double lowest = INF, highest = 0.0;
  for (const int k : shared.on) {
    highest = std::max(highest, levels_[k]);
    if (flows_[k]->stop == shared.number) lowest = std::min(lowest, levels_[k]);
  }
  lowest *= 1 + LEVEL_TOLERANCE;
  highest *= 1 - LEVEL_TOLERANCE;
  for (const auto &taken : link.on) {
    Flow &flow = *taken.flow;
    if (!flow.inside && (flow.level > lowest ||
                         (flow.stop == shared.number && (slack || flow.level < highest))))
      add(flow);
  }
}

}  // namespace tasksim::cluster
