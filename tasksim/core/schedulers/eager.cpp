// eager: one queue for all; the worker that asks first gets the oldest task (schedulers/eager.py).
#include "central.h"

namespace tasksim {

namespace {

const Register eager("eager",
                     [](const Options &) { return std::make_unique<Central<FifoQueue>>(); });

}  // namespace

}  // namespace tasksim
