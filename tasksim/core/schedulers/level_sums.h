// Sums over levels of priority: of what belongs to the levels up to one (schedulers/level_sums.py).
#pragma once

#include <algorithm>
#include <vector>

#include "../problem.h"

namespace tasksim {

// A number per rank, 0 at first, and the sum of those of the first ranks.
//
// A tree, each node of which keeps the sums of its 16 branches, made anew when something below
// changes: no rounding error stays. What is added in which order is as in Python.
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
      sum += first_of(nodes_[node], shift ? branch : branch + 1);
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
    double amount[LAST + 1] = {};
    std::int32_t below[LAST + 1];
  };

  static double first_of(const Node &node, int branches) {
    double sum = 0.0;
    for (int branch = 0; branch < branches; ++branch) sum += node.amount[branch];
    return sum;
  }

  // Lets *change* change what belongs to *rank*; returns the sum of the node.
  template <class Change>
  double put(int rank, std::int32_t node, int shift, Change change) {
    const int branch = rank >> shift & LAST;
    if (!shift) {
      change(nodes_[node].amount[branch]);
    } else {
      if (nodes_[node].below[branch] == NOTHING) {
        const std::int32_t made = new_node();
        nodes_[node].below[branch] = made;
      }
      const std::int32_t below = nodes_[node].below[branch];
      const double sum = put(rank, below, shift - BITS, change);
      nodes_[node].amount[branch] = sum;
      if (is_nothing(nodes_[below], shift == BITS)) {
        spare_.push_back(below);
        nodes_[node].below[branch] = NOTHING;
      }
    }
    return first_of(nodes_[node], LAST + 1);
  }

  static bool is_nothing(const Node &node, bool leaf) {
    if (leaf)
      return std::all_of(std::begin(node.amount), std::end(node.amount),
                         [](double amount) { return amount == 0.0; });
    return std::all_of(std::begin(node.below), std::end(node.below),
                       [](std::int32_t below) { return below == NOTHING; });
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

  int top_ = 0;  // by how much a rank is shifted for the root's branch
  std::vector<Node> nodes_;
  std::vector<std::int32_t> spare_;
};

}  // namespace tasksim
