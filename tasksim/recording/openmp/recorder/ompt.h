// The part of OpenMP's tool interface that the recorder uses: names, numbers and signatures of the
// OpenMP 5.2 specification, chapter 19. Kept here so that no header of a runtime is needed.
#pragma once

#include <cstdint>

namespace tasksim::ompt {

// What the runtime keeps for a tool per thread, region and task.
union Data {
  std::uint64_t value;
  void* pointer;
};

using Callback = void (*)();
using Lookup = Callback (*)(const char* name);

// What `ompt_start_tool` returns.
struct StartResult {
  int (*initialize)(Lookup lookup, int device, Data* tool);
  void (*finalize)(Data* tool);
  Data tool;
};

enum CallbackNumber : int {
  ON_THREAD_END = 2,
  ON_PARALLEL_BEGIN = 3,
  ON_PARALLEL_END = 4,
  ON_TASK_CREATE = 5,
  ON_TASK_SCHEDULE = 6,
  ON_IMPLICIT_TASK = 7,
  ON_SYNC_REGION_WAIT = 16,
  ON_DEPENDENCES = 18,
  ON_WORK = 20,
  ON_SYNC_REGION = 23,
  ON_CANCEL = 30,
};

// Answers of `ompt_set_callback`: from this on the callback is made at some of its events, or all.
constexpr int SET_SOMETIMES = 3;

enum Endpoint : int { BEGIN = 1, END = 2, BEGIN_END = 3 };

enum TaskFlag : unsigned {
  INITIAL = 0x1,
  TARGET = 0x8,
  TASKWAIT = 0x10,
  UNDEFERRED = 0x08000000,
  UNTIED = 0x10000000,
  FINAL = 0x20000000,
  MERGEABLE = 0x40000000,
  MERGED = 0x80000000,
};

enum TaskStatus : int {
  COMPLETE = 1,
  CANCELLED = 3,
  EARLY_FULFILL = 5,
  LATE_FULFILL = 6,
  TASKWAIT_COMPLETE = 8,
};

// The kind of synchronisation whose wait does not begin with it, but at its end.
constexpr int TASKGROUP = 6;

// The kind of work that is a taskloop.
constexpr int TASKLOOP = 7;

// Where a task is in the program and in the runtime: addresses of frames on the stack.
struct Frame {
  Data exit_frame;
  Data enter_frame;
  int exit_flags;
  int enter_flags;
};

// Flags of a frame of the runtime that is given by its frame pointer.
constexpr int RUNTIME_FRAME_POINTER = 0x20;

struct Dependence {
  Data variable;
  int kind;
};

using SetCallback = int (*)(int number, Callback callback);

}  // namespace tasksim::ompt
