// Energy: its cost in decisions of the dm family (schedulers/weights.py).
#pragma once

#include <bit>
#include <vector>

#include "scheduler.h"

namespace tasksim {

struct EnergyWeights {
  // The table "energy": the bits of the idle cost, and of the rates if there are any.
  EnergyWeights(const Options &options, const Platform &platform, const Graph &graph) {
    const auto bits = options.table("energy");
    const std::size_t rated = static_cast<std::size_t>(platform.classes) * graph.kernels;
    if (bits.size() != 1 && bits.size() != 1 + rated) throw BadArrays{};
    idle = std::bit_cast<double>(bits[0]);
    kernels_ = graph.kernels;
    for (const i64 rate : bits.subspan(1)) rates_.push_back(std::bit_cast<double>(rate));
  }

  // The cost, in seconds, of the energy of a task that takes *length* seconds in a class.
  double charge(int group, int kernel, double length) const {
    return rates_.empty() ? 0.0 : rates_[static_cast<i64>(group) * kernels_ + kernel] * length;
  }

  double idle = 0.0;  // cost of a second of idleness of the whole machine, in seconds

 private:
  i64 kernels_ = 0;
  std::vector<double> rates_;  // further cost of a second of a task: per class and kernel
};

}  // namespace tasksim
