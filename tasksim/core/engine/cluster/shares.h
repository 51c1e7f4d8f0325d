// Shares: weighted max-min fair shares with a limit each (engine/cluster/shares.py).
#pragma once

#include <span>
#include <vector>

#include "../../problem.h"

namespace tasksim::cluster {

// Bytes on a link per byte of data.
struct Use {
  int link;
  double of_byte;
};

// The common properties of all messages from one host to another.
struct Way {
  double limit, weight;  // bytes per tick
  double limit_level;    // limit / weight
  std::span<const Use> uses;
};

inline constexpr int AT_LIMIT = -1;  // stop of a flow at its own limit

// Progressive filling: a level rises for all at once, each gets level * weight. Flows that reach
// their limit stop there; flows on a full link keep their share. It is made once and used often: it
// reuses its memory, and keeps its data together, however large the network is.
class Filling {
 public:
  struct Link {
    int number;  // in the network
    double left, load;
    int rising;
    std::vector<int> on;  // the claims, in order
  };

  void clear();
  int add_link(int number);  // returns its place
  void add_claim(const Way &way);
  void add_use(int place, double of_byte);  // for the claim that was added last

  // Sets the capacity that a link has for the claims.
  void set_left(int place, double left) { links_[place].left = left; }
  void fill();

  int links() const { return used_; }
  const Link &link(int place) const { return links_[place]; }
  double share(int claim) const { return claims_[claim].share; }  // the share of each
  int stop(int claim) const { return claims_[claim].stop; }       // the number of its limiting link

 private:
  struct Claim {
    const Way *way;
    double share;
    int stop;
    int uses;  // their start
  };
  struct Taken {
    int place;
    double of_byte;
  };
  struct Level {
    double level;
    int number;  // of a link, orders equal ones
    int place;
  };

  void order_limits();
  void fill_first();
  void stop(int claim, double share, int where);

  std::vector<Claim> claims_;
  std::vector<Taken> uses_;  // of all claims
  std::vector<Link> links_;
  int used_ = 0;  // of the links
  std::vector<int> limits_;    // claims by limit, the lowest first
  std::vector<Level> levels_;  // of links, a heap with the lowest on top
};

}  // namespace tasksim::cluster
