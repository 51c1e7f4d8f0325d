// Suitability for threads: the schedulers and machines that they support.
#pragma once

#include <algorithm>

#include "../../schedulers/central.h"
#include "../../schedulers/ws.h"

namespace tasksim {

// Whether the threads support *scheduler*, and *platform* is like StarPU's. Each action of a thread
// takes time, so that none polls for ever at one instant; cores share main memory, which is
// unlimited, and each other memory is that of one device.
inline bool can_be_threads(const Platform &platform, const Scheduler &scheduler) {
  if (!dynamic_cast<const CentralScheduler *>(&scheduler) &&
      !dynamic_cast<const WorkStealing *>(&scheduler))
    return false;
  std::vector<int> devices(platform.memories, 0);  // number per memory
  for (int worker = 0; worker < platform.workers; ++worker) {
    const int memory = platform.memory_of[worker];
    if (!platform.pipeline[worker] == !!memory) return false;
    devices[memory] += !!memory;
  }
  const tasksim_platform &costs = platform.given;
  return std::min({costs.push, costs.fetch, costs.progress, costs.submission}) > 0 &&
         !costs.task && !costs.wakeup && !costs.start &&
         std::all_of(devices.begin() + 1, devices.end(), [](int count) { return count == 1; }) &&
         platform.memory_bytes[0] < 0.0;
}

}  // namespace tasksim
