#include "shares.h"

#include <algorithm>

namespace tasksim::cluster {

namespace {

// Least share in bytes per tick: never zero, for a flow must end.
constexpr double MIN_SHARE = 1e-18;

constexpr auto higher = [](const auto &one, const auto &other) {
  return one.level != other.level ? one.level > other.level : one.number > other.number;
};

// The level at which *link* is full.
double level_of(const Filling::Link &link) {
  return link.rising ? std::max(0.0, link.left) / link.load : INF;
}

}  // namespace

void Filling::clear() {
  claims_.clear();
  uses_.clear();
  used_ = 0;
}

int Filling::add_link(int number) {
  if (used_ == static_cast<int>(links_.size())) links_.emplace_back();
  Link &link = links_[used_];
  link.number = number;
  link.load = 0.0;
  link.on.clear();
  return used_++;
}

void Filling::add_claim(const Way &way) {
  claims_.push_back({&way, 0.0, AT_LIMIT, static_cast<int>(uses_.size())});
}

void Filling::add_use(int place, double of_byte) {
  const auto claim = static_cast<int>(claims_.size()) - 1;
  uses_.push_back({place, of_byte});
  links_[place].load += of_byte * claims_[claim].way->weight;
  links_[place].on.push_back(claim);
}

// Raises the level until every flow has stopped.
void Filling::fill() {
  order_limits();
  levels_.clear();
  for (int place = 0; place < used_; ++place) {
    Link &link = links_[place];
    link.rising = static_cast<int>(link.on.size());
    levels_.push_back({level_of(link), link.number, place});
  }
  std::make_heap(levels_.begin(), levels_.end(), higher);
  for (const int claim : limits_) {
    const Way &way = *claims_[claim].way;
    while (claims_[claim].share == 0.0 && !levels_.empty() &&
           levels_.front().level < way.limit_level)
      fill_first();
    if (claims_[claim].share == 0.0) stop(claim, way.limit, AT_LIMIT);
  }
}

// On most networks all limits are the same.
void Filling::order_limits() {
  limits_.clear();
  bool rising = true;
  for (std::size_t k = 0; k < claims_.size(); ++k) {
    limits_.push_back(static_cast<int>(k));
    rising = rising && (!k || claims_[k - 1].way->limit_level <= claims_[k].way->limit_level);
  }
  if (rising) return;
  std::stable_sort(limits_.begin(), limits_.end(), [this](int one, int other) {
    return claims_[one].way->limit_level < claims_[other].way->limit_level;
  });
}

// Stops the flows on the link that fills first; other links fill later for that.
void Filling::fill_first() {
  std::pop_heap(levels_.begin(), levels_.end(), higher);
  const auto [told, number, place] = levels_.back();
  levels_.pop_back();
  const Link &link = links_[place];
  const double level = level_of(link);
  if (level > told) {
    if (level < INF) {
      levels_.push_back({level, number, place});
      std::push_heap(levels_.begin(), levels_.end(), higher);
    }
    return;
  }
  for (const int claim : link.on)
    if (claims_[claim].share == 0.0) stop(claim, level * claims_[claim].way->weight, number);
}

void Filling::stop(int number, double share, int where) {
  Claim &claim = claims_[number];
  claim.share = std::max(share, MIN_SHARE);
  claim.stop = where;
  const std::size_t last = static_cast<std::size_t>(number) + 1;
  const int end = last < claims_.size() ? claims_[last].uses : static_cast<int>(uses_.size());
  for (int k = claim.uses; k < end; ++k) {
    Link &link = links_[uses_[k].place];
    link.left -= uses_[k].of_byte * share;
    link.load -= uses_[k].of_byte * claim.way->weight;
    --link.rising;
  }
}

}  // namespace tasksim::cluster
