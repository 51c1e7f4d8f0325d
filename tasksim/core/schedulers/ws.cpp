// ws and lws: work stealing from any victim in turn, or from the nearest first (schedulers/ws.py).
#include "ws.h"

namespace tasksim {

namespace {

class LocalityWorkStealing : public WorkStealing {
 protected:
  int stolen(int thief) override {
    int task = NONE;
    victims_->from_nearest(thief,
                           [&](int victim) { return (task = rob(victim, thief)) != NONE; });
    return task;
  }
};

const Register ws("ws", [](const Options &) { return std::make_unique<WorkStealing>(); });
const Register lws("lws",
                   [](const Options &) { return std::make_unique<LocalityWorkStealing>(); });

}  // namespace

}  // namespace tasksim
