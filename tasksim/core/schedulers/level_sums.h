// Sums over levels of priority, from the first level to any (schedulers/dmdasd.py).
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "../problem.h"

namespace tasksim {

// A number per rank, 0 at first, and the sum of the first ranks.
//
// A tree: each node keeps the sums of its 16 branches and computes them again when something below
// changes, so no rounding error stays. The order of additions is Python's.
class LevelSums {
 public:
  explicit LevelSums(i64 ranks) : nodes_(1) {
    while (ranks > i64{1} << (top_ + BITS)) top_ += BITS;
  }

  void add(int rank, double amount) { put(rank, 0, top_, [amount](double &of) { of += amount; }); }
  void clear(int rank) { put(rank, 0, top_, [](double &of) { of = 0.0; }); }

  // The sum of ranks 0 to *rank*.
  double up_to(int rank) const {
    double sum = 0.0;
    std::int32_t node = 0;
    for (int shift = top_; node != NOTHING; shift -= BITS) {
      const int branch = rank >> shift & LAST;
      sum += nodes_[node].sum_before(shift ? branch : branch + 1);
      if (!shift) break;
      node = nodes_[node].below[branch];
    }
    return sum;
  }

 private:
  static constexpr int BITS = 4, LAST = 15;
  static constexpr std::int32_t NOTHING = -1;

  struct Node {
    Node() { std::fill(std::begin(below), std::end(below), NOTHING); }

    // The sum of the first *branches*; empty ones add nothing.
    double sum_before(int branches) const {
      double sum = 0.0;
      for (unsigned left = used & ((1u << branches) - 1); left; left &= left - 1)
        sum += amount[std::countr_zero(left)];
      return sum;
    }

    unsigned used = 0;  // a bit per branch that is not empty
    double amount[LAST + 1] = {};
    std::int32_t below[LAST + 1];
  };

  // Lets *change* change the value of *rank*; returns the sum of the node.
  template <class Change>
  double put(int rank, std::int32_t node, int shift, Change change) {
    const int branch = rank >> shift & LAST;
    bool something;
    if (!shift) {
      double &amount = nodes_[node].amount[branch];
      change(amount);
      something = amount != 0.0;
    } else {
      if (nodes_[node].below[branch] == NOTHING) {
        const std::int32_t made = new_node();
        nodes_[node].below[branch] = made;
      }
      const std::int32_t below = nodes_[node].below[branch];
      const double sum = put(rank, below, shift - BITS, change);  // nodes may move
      nodes_[node].amount[branch] = sum;
      something = nodes_[below].used;
      if (!something) {
        spare_.push_back(below);
        nodes_[node].below[branch] = NOTHING;
      }
    }
    const unsigned bit = 1u << branch;
    nodes_[node].used = something ? nodes_[node].used | bit : nodes_[node].used & ~bit;
    return nodes_[node].sum_before(LAST + 1);
  }

  std::int32_t new_node() {
    if (spare_.empty()) {
      nodes_.emplace_back();
      return static_cast<std::int32_t>(nodes_.size() - 1);
    }
    const std::int32_t node = spare_.back();
    spare_.pop_back();
    return node;
  }

  int top_ = 0;  // shift of a rank for the branch of the root
  std::vector<Node> nodes_;
  std::vector<std::int32_t> spare_;
};

}  // namespace tasksim
