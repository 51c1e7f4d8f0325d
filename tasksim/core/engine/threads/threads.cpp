#include "threads.h"

#include "drivers.h"

namespace tasksim::threads {

struct Threads::Parts {
  Parts(Node &node, Kernel &kernel)
      : office(node.drivers, node.platform.memories),
        locks(node.overheads.progress, node.graph.handles),
        copying(node, kernel, locks, office),
        policy(policy_of(node.scheduler, node.view, office, node.overheads.progress)),
        ends(node, copying, locks, *policy),
        loop(node, copying, locks, *policy, ends) {}

  Office office;
  DataLocks locks;
  Copying copying;
  std::unique_ptr<Policy> policy;
  Ends ends;
  Loop loop;
  std::deque<CoreLoop> cores;
  std::deque<DeviceLoop> devices;
};

Threads::Threads(Node &node) : kernel(node.clock), node_(node) {}

Threads::~Threads() = default;

void Threads::begin() {
  parts_ = std::make_unique<Parts>(node_, kernel);
  for (Worker &worker : parts_->office.workers) {
    Actor &actor = worker.actor();
    actor.bell = [&worker] { return worker.bell.ring_if_slept_on(); };
    kernel.sleepers.push_back(&actor);
    if (worker.driver.pipeline) {
      DeviceLoop &device =
          parts_->devices.emplace_back(parts_->loop, worker, parts_->office, kernel);
      actor.begin(device.calls());
    } else {
      actor.begin(parts_->cores.emplace_back(parts_->loop, worker).calls());
    }
  }
}

Steps<> Threads::push(int task, int released_by) {
  return parts_->ends.push(task, released_by, nullptr);
}

}  // namespace tasksim::threads
