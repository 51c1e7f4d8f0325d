// Taskloops of programs that GCC compiled, whose tasks have copies of variables.
//
// GCC passes the data of the whole loop and a function that makes the data of a task of them, which
// may be shorter: they have a number where the loop's have its address. libomp (14 to 19) keeps as
// many bytes of the loop's data as a task's have, and calls the function with these: what was at
// their end is lost, and the loop goes wrong without a word. So these functions, which the program
// finds before libomp's, give libomp tasks that need no copy function, and call it in the task.
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>

namespace {

constexpr unsigned WITHOUT_GROUP = 1u << 11;  // GCC's flag of "nogroup"
constexpr long LONGER = 512;  // bytes: a loop has addresses of 64 variables that are numbers in tasks

using Body = void (*)(void*);
using Copy = void (*)(void*, void*);
template <typename T>
using Taskloop = void (*)(Body, void*, Copy, long, long, unsigned, unsigned long, int, T, T, T);

// The data of a task: the bounds of its part, which libomp sets; the reductions of the loop, where
// libomp looks for them; and what makes the data that the program's function expects.
template <typename T>
struct Part {
  T bounds[2];
  void* reductions;
  Body body;
  Copy copy;
  void* loop;
  std::size_t size, alignment;
};

template <typename T>
void run(void* given) {
  const auto& part = *static_cast<const Part<T>*>(given);
  constexpr std::size_t SMALL = 4096;
  alignas(64) char small[SMALL];
  void* block = nullptr;
  void* data = small;
  if (part.size > SMALL || part.alignment > 64) {
    const std::size_t alignment = part.alignment < 64 ? 64 : part.alignment;
    data = block = aligned_alloc(alignment, (part.size + alignment - 1) / alignment * alignment);
    if (!data) abort();
  }
  part.copy(data, part.loop);
  auto* bounds = static_cast<T*>(data);
  bounds[0] = part.bounds[0];
  bounds[1] = part.bounds[1];
  part.body(data);
  free(block);
}

template <typename T>
void taskloop(const char* name, Body body, void* data, Copy copy, long size, long alignment,
              unsigned flags, unsigned long tasks, int priority, T start, T end, T step) {
  const auto theirs = reinterpret_cast<Taskloop<T>>(dlsym(RTLD_NEXT, name));
  if (!theirs) abort();
  // Without a group, the loop's data may be gone before its tasks begin, so libomp makes theirs of
  // it, from as many bytes as it may have. That goes wrong only where a loop has so many tasks (ten
  // per thread) that libomp has them created by tasks.
  if (!copy || flags & WITHOUT_GROUP) {
    const long kept = copy ? size + LONGER : size;
    theirs(body, data, copy, kept, alignment, flags, tasks, priority, start, end, step);
    return;
  }
  Part<T> part{{start, end},
               static_cast<Part<T>*>(data)->reductions,
               body,
               copy,
               data,
               static_cast<std::size_t>(size),
               static_cast<std::size_t>(alignment)};
  theirs(run<T>, &part, nullptr, sizeof part, alignof(Part<T>), flags, tasks, priority, start, end,
         step);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void GOMP_taskloop(Body body, void* data, Copy copy,
                                                          long size, long alignment, unsigned flags,
                                                          unsigned long tasks, int priority,
                                                          long start, long end, long step) {
  taskloop("GOMP_taskloop", body, data, copy, size, alignment, flags, tasks, priority, start, end,
           step);
}

__attribute__((visibility("default"))) void GOMP_taskloop_ull(
    Body body, void* data, Copy copy, long size, long alignment, unsigned flags,
    unsigned long tasks, int priority, unsigned long long start, unsigned long long end,
    unsigned long long step) {
  taskloop("GOMP_taskloop_ull", body, data, copy, size, alignment, flags, tasks, priority, start,
           end, step);
}

}  // extern "C"
