// Facts about the library.
#include "tasksim_core.h"

#include <cfloat>

// Floats of Python and NumPy, and addresses that Python passes as 64-bit integers. Without these
// the core is not built, and tasksim is pure Python. WebAssembly is not called from Python.
static_assert(FLT_EVAL_METHOD == 0, "the core needs arithmetic in double precision, no wider");
#ifndef __wasm__
static_assert(sizeof(void*) == 8, "the core needs a 64-bit machine");
#endif

int32_t tasksim_core_version() { return TASKSIM_CORE_VERSION; }

// The compiler's command line defines both: tasksim/core/build.py.
const char *tasksim_core_sources() { return TASKSIM_CORE_SOURCES; }

const char *tasksim_core_compiler() { return TASKSIM_CORE_COMPILER; }
