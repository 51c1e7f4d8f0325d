// Interface of what replays and native runs share: C functions, which no exception leaves.
#include "problem.h"
#include "schedulers/python.h"
#include "thrown.h"

using namespace tasksim;

namespace {

template <class Made, class Given>
void *made(const Given *given, int32_t *status) {
  void *found = nullptr;
  *status = guarded(nullptr, [&] {
    if (!given) throw BadArrays{};
    found = new Made(*given);
    return TASKSIM_DONE;
  });
  return found;
}

}  // namespace

extern "C" {

void *tasksim_graph_new(const tasksim_graph *given, int32_t *status) {
  return made<Graph>(given, status);
}

void tasksim_graph_free(void *graph) { delete static_cast<Graph *>(graph); }

void *tasksim_platform_new(const tasksim_platform *given, int32_t *status) {
  return made<Platform>(given, status);
}

void tasksim_platform_free(void *platform) { delete static_cast<Platform *>(platform); }

void tasksim_python_is(const tasksim_python *given) { python = *given; }

}  // extern "C"
