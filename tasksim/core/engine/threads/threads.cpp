#include "threads.h"

#include "drivers.h"

namespace tasksim::threads {

struct Threads::Parts {
  Parts(Node &node, Kernel &kernel)
      : office(node.drivers, node.platform.memories),
        locks(node.overheads.progress, node.graph.handles, kernel),
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

Threads::Threads(Node &node, Kernel *shared)
    : own_(shared ? nullptr : std::make_unique<Kernel>(node.clock)),
      kernel(shared ? *shared : *own_),
      node_(node) {}

Threads::~Threads() = default;

void Threads::begin() {
  node_.release.leave_turns_to_others();
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

std::unique_ptr<Bell> Threads::bell(Routine &routine) {
  auto bell = std::make_unique<Bell>();
  auto &actor = static_cast<Actor &>(routine);
  actor.bell = [slept_on = bell.get()] { return slept_on->ring_if_slept_on(); };
  kernel.sleepers.push_back(&actor);
  return bell;
}

Steps<> Threads::tell_all(int memory) { return parts_->office.tell_all(memory, nullptr); }

Steps<> Threads::finish_communication(int task) { return parts_->ends.finish_communication(task); }

Steps<> Threads::push(int task, int released_by) {
  return parts_->ends.push(task, released_by, nullptr);
}

}  // namespace tasksim::threads
