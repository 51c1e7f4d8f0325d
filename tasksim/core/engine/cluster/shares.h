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
  double limit_level;    // limit / weight
  std::span<const Use> uses;
};

inline constexpr int AT_LIMIT = -1;  // where a flow stopped that no link held back

// Progressive filling: a level rises for all at once, each getting level * weight; those that reach
// their limit stop there, those on a link that is full stay at what they have. Made once, asked often:
// it keeps its room, and has what it looks at together, however large the network is.
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
  void add_use(int place, double of_byte);  // of the claim that was added last

  // So much is left of a link for the claims.
  void set_left(int place, double left) { links_[place].left = left; }
  void fill();

  int links() const { return used_; }
  const Link &link(int place) const { return links_[place]; }
  double share(int claim) const { return claims_[claim].share; }  // what each gets
  int stop(int claim) const { return claims_[claim].stop; }       // the number of what holds it back

 private:
  struct Claim {
    const Way *way;
    double share;
    int stop;
    int uses;  // where they begin
  };
  struct Taken {
    int place;
    double of_byte;
  };
  struct Level {
    double level;
    int number;  // of a link, by which equal ones are ordered
    int place;
  };

  void order_limits();
  void fill_first();
  void stop(int claim, double share, int where);

  std::vector<Claim> claims_;
  std::vector<Taken> uses_;  // of all claims
  std::vector<Link> links_;
  int used_ = 0;  // of the links
  std::vector<int> limits_;    // the claims, the lowest limit first
  std::vector<Level> levels_;  // of links, a heap with the lowest on top
};

}  // namespace tasksim::cluster
