// Foreign scheduler: a scheduler outside of the core, reached by callbacks.
#pragma once

#include "../runtime/ledger.h"
#include "scheduler.h"

namespace tasksim {

std::unique_ptr<Scheduler> foreign_scheduler(const tasksim_callbacks &callbacks);

}  // namespace tasksim
