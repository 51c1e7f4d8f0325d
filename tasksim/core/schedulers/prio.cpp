// prio: one queue for all, sorted by priority (schedulers/prio.py).
#include "central.h"

namespace tasksim {

namespace {

const Register prio("prio",
                    [](const Options &) { return std::make_unique<Central<PriorityQueue>>(); });

}  // namespace

}  // namespace tasksim
