// eager and prio: one queue for all; the worker that asks first gets its first task.
#include "central.h"

namespace tasksim {

namespace {

const Register eager("eager",
                     [](const Options &) { return std::make_unique<Central<FifoQueue>>(); });
const Register prio("prio",
                    [](const Options &) { return std::make_unique<Central<PriorityQueue>>(); });

}  // namespace

}  // namespace tasksim
