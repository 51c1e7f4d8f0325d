// Called scheduler: one that is written in Python, whose methods the core calls itself.
#pragma once

#include "shown.h"

namespace tasksim {

// The scheduler that *shown* was given.
std::unique_ptr<Scheduler> called_scheduler(Shown &shown);

}  // namespace tasksim
