// Trees of a forest (models/learned/forest.py).
#ifndef TASKSIM_MODELS_FOREST_H
#define TASKSIM_MODELS_FOREST_H

namespace tasksim::models {

constexpr int DEPTH = 6;  // forest.DEPTH

}  // namespace tasksim::models
#endif
