// Victims of work stealing, in order of number or of distance.
//
// As in schedulers/ws.py: sorted lists of all workers, of each node, of each memory of a node.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "scheduler.h"

namespace tasksim {

class Victims {
 public:
  explicit Victims(const Platform &platform)
      : among(platform.workers), platform_(&platform), lists_(1) {
    using Place = std::pair<int, int>;  // a node and a memory
    std::map<int, int> node_list;
    std::map<Place, int> place_list;
    std::set<int> memories;
    for (int worker = 0; worker < platform.workers; ++worker) {
      node_list[platform.node_of[worker]] = ALL;
      place_list[place_of(worker)] = ALL;
      memories.insert(platform.memory_of[worker]);
    }
    // Several levels share a list if there is only one node, or one memory in each.
    if (node_list.size() > 1)
      for (auto &[node, list] : node_list) list = new_list();
    for (auto &[place, list] : place_list)
      list = place_list.size() == node_list.size() ? node_list[place.first] : new_list();
    for (int worker = 0; worker < platform.workers; ++worker) {
      of_node_.push_back(node_list[platform.node_of[worker]]);
      of_place_.push_back(place_list[place_of(worker)]);
    }
    several_ = place_list.size() > 1;
    shared_ = memories.size() < place_list.size();
  }

  bool none() const { return lists_[ALL].empty(); }

  // Adds *worker*, which is not in the lists.
  void add(int worker) {
    among[worker] = true;
    insert(lists_[ALL], worker);
    if (of_node_[worker] != ALL) insert(lists_[of_node_[worker]], worker);
    if (of_place_[worker] != of_node_[worker]) insert(lists_[of_place_[worker]], worker);
  }

  // Removes *worker*, which is in the lists.
  void discard(int worker) {
    among[worker] = false;
    remove(lists_[ALL], worker);
    if (of_node_[worker] != ALL) remove(lists_[of_node_[worker]], worker);
    if (of_place_[worker] != of_node_[worker]) remove(lists_[of_place_[worker]], worker);
  }

  // These call *rob* with one after the other until it returns true; they return whether it did.

  // In order of number, from *first* on, wrapping round.
  template <class Rob>
  bool from_number(int first, Rob rob) const {
    return around(lists_[ALL], first, rob);
  }

  // First the same memory and node, then the same node, the same memory, the rest; among equals
  // those after *thief*, wrapping round.
  template <class Rob>
  bool from_nearest(int thief, Rob rob) const {
    if (!several_) return around(lists_[ALL], thief + 1, rob);
    const int node = of_node_[thief], place = of_place_[thief];
    if (around(lists_[place], thief + 1, rob)) return true;
    const auto far_rob = [&](int worker) { return !same_memory(worker, thief) && rob(worker); };
    if (node != place && around(lists_[node], thief + 1, far_rob)) return true;
    return node != ALL && of_other_nodes(thief, rob);
  }

  std::vector<bool> among;  // per worker, whether it is a victim

 private:
  using Members = std::vector<int>;
  static constexpr int ALL = 0;

  std::pair<int, int> place_of(int worker) const {
    return {platform_->node_of[worker], platform_->memory_of[worker]};
  }
  bool same_memory(int one, int other) const {
    return platform_->memory_of[one] == platform_->memory_of[other];
  }
  bool same_node(int one, int other) const {
    return platform_->node_of[one] == platform_->node_of[other];
  }

  int new_list() {
    lists_.emplace_back();
    return static_cast<int>(lists_.size()) - 1;
  }

  static void insert(Members &members, int worker) {
    members.insert(std::ranges::lower_bound(members, worker), worker);
  }
  static void remove(Members &members, int worker) {
    members.erase(std::ranges::lower_bound(members, worker));
  }

  template <class Rob>
  bool of_other_nodes(int thief, Rob rob) const {
    const auto elsewhere = [&](int worker) { return !same_node(worker, thief); };
    const auto of_memory = [&](bool same) {
      return around(lists_[ALL], thief + 1, [&](int worker) {
        return elsewhere(worker) && same_memory(worker, thief) == same && rob(worker);
      });
    };
    if (shared_) return of_memory(true) || of_memory(false);
    return around(lists_[ALL], thief + 1,
                  [&](int worker) { return elsewhere(worker) && rob(worker); });
  }

  template <class Rob>
  static bool around(const Members &members, int first, Rob rob) {
    const auto start = std::ranges::lower_bound(members, first);
    for (auto worker = start; worker != members.end(); ++worker)
      if (rob(*worker)) return true;
    for (auto worker = members.begin(); worker != start; ++worker)
      if (rob(*worker)) return true;
    return false;
  }

  const Platform *platform_;
  std::vector<Members> lists_;
  std::vector<int> of_node_, of_place_;  // per worker, its lists
  bool several_ = false;
  bool shared_ = false;  // whether workers of several nodes share a memory
};

}  // namespace tasksim
