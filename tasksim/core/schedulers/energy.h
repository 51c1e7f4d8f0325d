// Energy: what it costs in decisions of the dm family (schedulers/weights.py).
#pragma once

#include <bit>
#include <vector>

#include "scheduler.h"

namespace tasksim {

struct EnergyWeights {
  // The table "energy": the bits of idle, and of the rates if there are any.
  EnergyWeights(const Options &options, const Platform &platform, const Graph &graph) {
    const auto bits = options.table("energy");
    const std::size_t rated = static_cast<std::size_t>(platform.classes) * graph.kernels;
    if (bits.size() != 1 && bits.size() != 1 + rated) throw BadArrays{};
    idle = std::bit_cast<double>(bits[0]);
    kernels_ = graph.kernels;
    for (const i64 rate : bits.subspan(1)) rates_.push_back(std::bit_cast<double>(rate));
  }

  // What the energy of a task costs that takes *length* in a class, in seconds.
  double charge(int group, int kernel, double length) const {
    return rates_.empty() ? 0.0 : rates_[static_cast<i64>(group) * kernels_ + kernel] * length;
  }

  double idle = 0.0;  // what a second of idleness of the whole machine costs, in seconds

 private:
  i64 kernels_ = 0;
  std::vector<double> rates_;  // what a second of a task costs besides: class by class, per kernel
};

}  // namespace tasksim
