#include "shares.h"

#include <algorithm>

namespace tasksim::cluster {

namespace {

constexpr double LEAST = 1e-18;  // of a share, in bytes per tick: never zero, for a flow must end

}  // namespace

void Filling::fill(std::span<const Way *const> claims, std::span<const int> links,
                   std::span<const double> left) {
  claims_ = claims;
  shares_.assign(claims.size(), 0.0);
  stops_.assign(claims.size(), AT_LIMIT);
  for (std::size_t k = 0; k < links.size(); ++k) {
    Link &link = links_[links[k]];
    link.left = left[k];
    link.load = 0.0;
    link.counts = true;
    link.on.clear();
  }
  for (std::size_t k = 0; k < claims.size(); ++k)
    for (const Use &use : claims[k]->uses)
      if (Link &link = links_[use.link]; link.counts) {
        link.load += use.of_byte * claims[k]->weight;
        link.on.push_back(static_cast<int>(k));
      }
  levels_.clear();
  for (const int number : links) {
    Link &link = links_[number];
    link.rising = static_cast<int>(link.on.size());
    levels_.push_back({level_of(link), number});
  }
  raise();
  for (const int number : links) links_[number].counts = false;
}

namespace {

constexpr auto lower = [](const auto &one, const auto &other) {
  return one.level != other.level ? one.level < other.level : one.number < other.number;
};
constexpr auto higher = [](const auto &one, const auto &other) { return lower(other, one); };

}  // namespace

// Raises the level until every flow has stopped.
void Filling::raise() {
  limits_.clear();
  for (std::size_t k = 0; k < claims_.size(); ++k)
    limits_.push_back({claims_[k]->limit / claims_[k]->weight, static_cast<int>(k)});
  std::sort(limits_.begin(), limits_.end(), higher);
  std::make_heap(levels_.begin(), levels_.end(), higher);
  while (!limits_.empty()) {
    const auto [level, claim] = limits_.back();
    if (shares_[claim] != 0.0) {
      limits_.pop_back();
    } else if (!levels_.empty() && levels_.front().level < level) {
      fill_first();
    } else {
      limits_.pop_back();
      stop(claim, claims_[claim]->limit, AT_LIMIT);
    }
  }
}

// The level at which *link* is full.
double Filling::level_of(const Link &link) const {
  return link.rising ? std::max(0.0, link.left) / link.load : INF;
}

// Stops the flows on the link that is full first; as others stop, that comes later.
void Filling::fill_first() {
  std::pop_heap(levels_.begin(), levels_.end(), higher);
  const auto [told, number] = levels_.back();
  levels_.pop_back();
  const Link &link = links_[number];
  const double level = level_of(link);
  if (level > told) {
    if (level < INF) {
      levels_.push_back({level, number});
      std::push_heap(levels_.begin(), levels_.end(), higher);
    }
    return;
  }
  for (const int claim : link.on)
    if (shares_[claim] == 0.0) stop(claim, level * claims_[claim]->weight, number);
}

void Filling::stop(int claim, double share, int where) {
  shares_[claim] = std::max(share, LEAST);
  stops_[claim] = where;
  for (const Use &use : claims_[claim]->uses)
    if (Link &link = links_[use.link]; link.counts) {
      link.left -= use.of_byte * share;
      link.load -= use.of_byte * claims_[claim]->weight;
      --link.rising;
    }
}

}  // namespace tasksim::cluster
