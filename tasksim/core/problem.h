// Problem: the graph and the platform of a replay. Checked once, shared by many replays.
#pragma once

#include <cstdint>
#include <limits>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "tasksim_core.h"

namespace tasksim {

using i64 = std::int64_t;
using u64 = std::uint64_t;

inline constexpr double INF = std::numeric_limits<double>::infinity();
inline constexpr int MAX_CLASSES = 64;   // a mask of classes is one word
inline constexpr int MAX_MEMORIES = 64;  // one word holds a mask of memories, too

// Error of arrays that are out of range.
struct BadArrays {};

inline void expect(bool holds) {
  if (!holds) throw BadArrays{};
}

// An access of a task to a datum, in one word: large graphs have several for each task.
struct Need {
  Need() : Need(0, false, false) {}
  Need(int handle, bool reads, bool writes)
      : handle(static_cast<std::uint32_t>(handle)), reads(reads), writes(writes) {}

  std::uint32_t handle : 30;
  bool reads : 1, writes : 1;
};
static_assert(sizeof(Need) == 4);
inline constexpr i64 MAX_HANDLES = i64{1} << 30;

// Lists of different lengths, stored one after the other.
template <class T>
class Ragged {
 public:
  std::span<const T> operator[](i64 row) const {
    return {items.data() + ptr[row], static_cast<std::size_t>(ptr[row + 1] - ptr[row])};
  }
  bool empty() const { return items.empty(); }

  std::vector<i64> ptr;
  std::vector<T> items;
};

// Priorities by rank: 0 is the most urgent of all.
struct Ranks {
  std::vector<std::int32_t> of;  // per task
  i64 count = 0;
};

// An access to a datum by a task.
struct Use {
  std::int32_t task;
  bool commutes;
};


// A task graph (graph/taskgraph.py), with the tables that a replay reads.
class Graph {
 public:
  explicit Graph(const tasksim_graph &given);  // throws BadArrays

  std::span<const std::int32_t> successors_of(int task) const {
    return successors.subspan(successor_ptr[task], successor_ptr[task + 1] - successor_ptr[task]);
  }

  // Made at the first call, by any thread.
  const Ranks &ranks() const;

  int tasks, handles, kernels;
  std::span<const std::int32_t> kernel, priority;
  std::span<const i64> successor_ptr;
  std::span<const std::int32_t> successors;
  std::span<const i64> access_ptr;
  std::span<const std::int32_t> access_handle;
  std::span<const std::int8_t> access_mode;
  std::span<const i64> size;            // per handle, bytes
  std::span<const std::int32_t> home;   // per handle
  std::span<const std::int32_t> hint_after, hint_handle;
  std::span<const std::int8_t> at_once;  // per task, or empty
  int starts;                            // tasks that are the start of a worker

  // When *worker*, a core, is there, if a start takes *start* ticks. The first one is there at once,
  // and those whose starts are tasks are there for these.
  i64 there(int worker, i64 start) const { return worker > starts ? start : 0; }

  // Whether the worker of the task before it goes on to *task* without asking the runtime.
  bool goes_on_at_once(int task) const { return !at_once.empty() && at_once[task]; }

  std::vector<std::int32_t> predecessors;  // number per task
  Ragged<Need> needs;                      // written data first, then by handle, as StarPU does
  Ragged<std::int32_t> exclusive;          // commutative handles per task; no rows if there are none
  Ragged<std::int32_t> writers;            // per handle, the tasks that write it, by number
  Ragged<std::int32_t> hint_waits;         // per hint, the tasks whose ends it waits for
  std::vector<std::int8_t> hint_drops;     // per hint, whether it drops a received copy

 private:
  mutable std::once_flag ranked_;
  mutable Ranks ranks_;
};

// The accesses to each datum of *graph*, by number of the task.
Ragged<Use> uses_of(const Graph &graph);

// A platform (platform/description.py) as a replay sees it.
class Platform {
 public:
  explicit Platform(const tasksim_platform &given);  // throws BadArrays

  bool connects(int source, int target) const { return path[source * memories + target] >= 0; }

  tasksim_platform given;
  int workers, classes, memories, links;
  std::span<const std::int32_t> class_of, memory_of, node_of, pipeline;
  std::span<const double> nominal_speed;
  std::span<const double> memory_bytes;
  std::span<const std::int32_t> path;

  std::vector<std::vector<int>> class_workers;  // per class, by number
  std::vector<int> class_memory;
  std::vector<bool> devices;  // per memory: whether a worker there drives a device
  int driven_memories = 0;
};

}  // namespace tasksim
