// Means of Gaussian processes by products of coordinates (models/learned/process.py).
#ifndef TASKSIM_MODELS_PROCESS_H
#define TASKSIM_MODELS_PROCESS_H

#include "../tasksim_core.h"

#ifdef __cplusplus
extern "C" {
#endif

// As tasksim_process_float32 and tasksim_process_float64, with other arrays: the first column of
// rows is the square of the others, that of centres 2 + their square, and the others of centres are
// multiplied by -2. A squared distance then takes two operations per column instead of three.
TASKSIM_API void tasksim_products_float32(const float *rows, int64_t n, int64_t columns,
                                          const float *centres, const float *weights,
                                          int64_t groups, double *out);
TASKSIM_API void tasksim_products_float64(const double *rows, int64_t n, int64_t columns,
                                          const double *centres, const double *weights,
                                          int64_t groups, double *out);

#ifdef __cplusplus
}
#endif
#endif
