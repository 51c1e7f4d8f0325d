// Code in versions for processors with wider registers. All versions give the same bytes: each lane
// does the same operations in the same order, and none is contracted.
#ifndef TASKSIM_MODELS_WIDE_H
#define TASKSIM_MODELS_WIDE_H

namespace tasksim::models {

#if defined(__x86_64__) && defined(__GNUC__)
#define TASKSIM_AVX2 __attribute__((target("avx2")))
#define TASKSIM_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
inline bool has_avx2() { return __builtin_cpu_supports("avx2"); }
inline bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#else
#define TASKSIM_AVX2
#define TASKSIM_AVX512
inline bool has_avx2() { return false; }
inline bool has_avx512() { return false; }
#endif

// What such a version calls must be inlined, or it has the narrow registers.
#if defined(__GNUC__)
#define TASKSIM_INLINED inline __attribute__((always_inline))
#else
#define TASKSIM_INLINED inline
#endif

}  // namespace tasksim::models
#endif
