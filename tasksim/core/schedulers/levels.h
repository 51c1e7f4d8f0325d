// Levels of priority: those with tasks in a queue, with fast access to the most urgent.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "../problem.h"

namespace tasksim {

// Ranks of levels, from 0 on, with a place for each. The lowest and the highest are found in as
// many steps as the number of ranks has digits to the base 64.
//
// A tree: bit b of a node is set if its branch b is not empty.
class Levels {
 public:
  struct Level {
    int rank;
    std::int32_t place;
  };

  // *ranks*: the number of possible ranks.
  explicit Levels(i64 ranks) : nodes_(1) {
    while (ranks > i64{1} << (top_ + BITS)) top_ += BITS;
  }

  bool empty() const { return !nodes_[0].used; }

  Level first() const {
    return outermost([](u64 used) { return std::countr_zero(used); });
  }
  int last() const {
    return outermost([](u64 used) { return 63 - std::countl_zero(used); }).rank;
  }

  // The place of a level, at first *none*.
  std::int32_t &at(int rank, std::int32_t none) {
    std::int32_t node = 0;
    for (int shift = top_; shift; shift -= BITS) {
      const int branch = rank >> shift & LAST;
      if (!(nodes_[node].used >> branch & 1)) {
        const std::int32_t made = new_node();
        nodes_[node].below[branch] = made;
        nodes_[node].used |= u64{1} << branch;
      }
      node = nodes_[node].below[branch];
    }
    Node &leaf = nodes_[node];
    const int branch = rank & LAST;
    if (!(leaf.used >> branch & 1)) leaf.below[branch] = none;
    leaf.used |= u64{1} << branch;
    return leaf.below[branch];
  }

  void remove(int rank) { remove(rank, 0, top_); }

 private:
  static constexpr int BITS = 6, LAST = 63;

  struct Node {
    u64 used = 0;
    std::int32_t below[LAST + 1];  // nodes, or places
  };

  template <class Choose>
  Level outermost(Choose choose) const {
    std::int32_t node = 0;
    int rank = 0;
    for (int shift = top_; shift >= 0; shift -= BITS) {
      const int branch = choose(nodes_[node].used);
      rank |= branch << shift;
      node = nodes_[node].below[branch];
    }
    return {rank, node};
  }

  void remove(int rank, std::int32_t node, int shift) {
    const int branch = rank >> shift & LAST;
    if (shift) {
      const std::int32_t below = nodes_[node].below[branch];
      remove(rank, below, shift - BITS);
      if (nodes_[below].used) return;
      spare_.push_back(below);
    }
    nodes_[node].used &= ~(u64{1} << branch);
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
  std::vector<std::int32_t> spare_;  // empty nodes
};

}  // namespace tasksim
