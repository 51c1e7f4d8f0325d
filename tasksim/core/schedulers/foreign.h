// Foreign scheduler: one that is no policy of the core, asked by callbacks.
#pragma once

#include "../runtime/ledger.h"
#include "scheduler.h"

namespace tasksim {

std::unique_ptr<Scheduler> foreign_scheduler(const tasksim_callbacks &callbacks);

}  // namespace tasksim
