// Called scheduler: a scheduler written in Python, whose methods the core calls itself.
#pragma once

#include "shown.h"

namespace tasksim {

// The scheduler in *shown*.
std::unique_ptr<Scheduler> called_scheduler(Shown &shown);

}  // namespace tasksim
