// Shares: weighted max-min fair, each with a limit of its own (engine/cluster/shares.py).
#pragma once

#include <span>
#include <vector>

#include "../../problem.h"

namespace tasksim::cluster {

// What a byte takes of a link.
struct Use {
  int link;
  double of_byte;
};

// What all messages from one host to another have in common.
struct Way {
  double limit, weight;  // bytes per tick
  std::span<const Use> uses;
};

inline constexpr int AT_LIMIT = -1;  // where a flow stopped that no link held back

// Progressive filling: a level rises for all at once, each getting level * weight; those that reach
// their limit stop there, those on a link that is full stay at what they have. Made once, asked often:
// it keeps its room.
class Filling {
 public:
  explicit Filling(std::size_t links) : links_(links) {}

  // Shares *links*, ascending, of each of which so much is *left*, among *claims*.
  void fill(std::span<const Way *const> claims, std::span<const int> links,
            std::span<const double> left);

  std::span<const double> shares() const { return shares_; }  // what each gets
  std::span<const int> stops() const { return stops_; }       // which link holds each back
  double left(int link) const { return links_[link].left; }
  std::span<const int> on(int link) const { return links_[link].on; }  // the claims

 private:
  struct Link {
    double left = 0.0, load = 0.0;
    int rising = 0;
    bool counts = false;
    std::vector<int> on;  // the claims, in order
  };
  struct Level {
    double level;
    int number;  // of a link
  };

  void raise();
  void fill_first();
  void stop(int claim, double share, int where);
  double level_of(const Link &link) const;

  std::span<const Way *const> claims_;
  std::vector<Link> links_;
  std::vector<double> shares_;
  std::vector<int> stops_;
  std::vector<Level> limits_;  // of claims, the lowest last
  std::vector<Level> levels_;  // of links, a heap with the lowest on top
};

}  // namespace tasksim::cluster
