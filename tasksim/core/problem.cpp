#include "problem.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace tasksim {

namespace {

constexpr i64 MAX_TASKS = std::numeric_limits<std::int32_t>::max() - 1;
constexpr i64 MAX_HANDLE_BYTES = i64{1} << 50;  // of a datum, a petabyte: exact as a double
constexpr i64 MAX_ACCESSES_BYTES = i64{1} << 61;  // of all accesses together: sums do not overflow
enum Mode : std::int8_t { R = 1, W = 2, RW = 3, COMMUTATIVE = 4, REDUCTION = 5, SCRATCH = 6 };

template <class T>
std::span<const T> array(const T *given, i64 length) {
  expect(length >= 0 && (given || !length));
  return {given, static_cast<std::size_t>(length)};
}

template <class T>
void expect_within(std::span<const T> values, i64 least, i64 most) {
  for (const T value : values) expect(value >= least && value <= most);
}

// The starts of the rows of a ragged table of *items* items: from 0, never decreasing.
std::span<const i64> pointer(const i64 *given, i64 rows, i64 items) {
  const auto found = array(given, rows + 1);
  expect(found[0] == 0 && found[rows] == items);
  expect(std::is_sorted(found.begin(), found.end()));
  return found;
}

bool reads(std::int8_t mode) { return mode == R || mode == RW || mode == COMMUTATIVE; }
bool writes(std::int8_t mode) { return mode == W || mode == RW || mode == COMMUTATIVE; }

bool goes_before(const Need &one, const Need &other) {
  return one.writes != other.writes ? one.writes : one.handle < other.handle;
}

bool has_lower_number(const Need &one, const Need &other) {
  return one.handle != other.handle ? one.handle < other.handle : one.writes > other.writes;
}

// Sorts the data of a task from *first* on: a handful, often in order already.
template <typename Before>
void sort_few(std::vector<Need> &items, i64 first, Before before) {
  const auto begin = items.begin() + first;
  if (items.end() - begin > 32) return std::stable_sort(begin, items.end(), before);
  for (auto next = begin; next != items.end(); ++next)
    std::rotate(std::upper_bound(begin, next, *next, before), next, next + 1);
}

// The accesses that need copies, in StarPU's order: written data first, but if data are *apart*, by
// number alone.
Ragged<Need> ordered_needs(const Graph &graph, bool apart) {
  Ragged<Need> found;
  found.ptr.reserve(graph.tasks + 1);
  found.ptr.push_back(0);
  found.items.reserve(graph.access_handle.size());
  for (int task = 0; task < graph.tasks; ++task) {
    for (i64 k = graph.access_ptr[task]; k < graph.access_ptr[task + 1]; ++k) {
      const auto mode = graph.access_mode[k];
      if (reads(mode) || writes(mode))
        found.items.emplace_back(graph.access_handle[k], reads(mode), writes(mode));
    }
    if (apart)
      sort_few(found.items, found.ptr.back(), has_lower_number);
    else
      sort_few(found.items, found.ptr.back(), goes_before);
    found.ptr.push_back(static_cast<i64>(found.items.size()));
  }
  return found;
}

Ragged<std::int32_t> commutative_handles(const Graph &graph) {
  Ragged<std::int32_t> found;
  const auto &modes = graph.access_mode;
  if (std::find(modes.begin(), modes.end(), COMMUTATIVE) == modes.end()) return found;
  found.ptr.reserve(graph.tasks + 1);
  found.ptr.push_back(0);
  for (int task = 0; task < graph.tasks; ++task) {
    for (i64 k = graph.access_ptr[task]; k < graph.access_ptr[task + 1]; ++k)
      if (graph.access_mode[k] == COMMUTATIVE) found.items.push_back(graph.access_handle[k]);
    found.ptr.push_back(static_cast<i64>(found.items.size()));
  }
  return found;
}

// Per handle the tasks that write it, once per access, by number.
Ragged<std::int32_t> writers_of(const Graph &graph) {
  Ragged<std::int32_t> found;
  found.ptr.assign(graph.handles + 1, 0);
  for (std::size_t k = 0; k < graph.access_handle.size(); ++k)
    if (writes(graph.access_mode[k])) ++found.ptr[graph.access_handle[k] + 1];
  std::partial_sum(found.ptr.begin(), found.ptr.end(), found.ptr.begin());
  found.items.resize(found.ptr.back());
  auto next = found.ptr;
  for (int task = 0; task < graph.tasks; ++task)
    for (i64 k = graph.access_ptr[task]; k < graph.access_ptr[task + 1]; ++k)
      if (writes(graph.access_mode[k])) found.items[next[graph.access_handle[k]]++] = task;
  return found;
}

// Adds the tasks that commute with the last of *tasks* and come before it in *uses*.
void add_those_before(std::span<const Use> uses, std::vector<std::int32_t> &tasks) {
  auto use = std::find_if(uses.begin(), uses.end(),
                          [last = tasks.back()](const Use &each) { return each.task == last; });
  if (!use->commutes) return;
  while (use != uses.begin() && (--use)->commutes) tasks.push_back(use->task);
}

// Per hint the last writers of its datum before it: one, or several that commute.
Ragged<std::int32_t> last_writers(const Graph &graph) {
  Ragged<std::int32_t> found;
  found.ptr.assign(1, 0);
  const Ragged<Use> uses = graph.exclusive.empty() ? Ragged<Use>{} : uses_of(graph);
  for (std::size_t hint = 0; hint < graph.hint_after.size(); ++hint) {
    const int handle = graph.hint_handle[hint];
    const auto all = graph.writers[handle];
    const auto after = std::lower_bound(all.begin(), all.end(), graph.hint_after[hint]);
    if (after != all.begin()) {
      const std::size_t first = found.items.size();
      found.items.push_back(*(after - 1));
      if (!graph.exclusive.empty()) add_those_before(uses[handle], found.items);
      std::reverse(found.items.begin() + static_cast<i64>(first), found.items.end());
    }
    found.ptr.push_back(static_cast<i64>(found.items.size()));
  }
  return found;
}

}  // namespace

Ragged<Use> uses_of(const Graph &graph) {
  Ragged<Use> found;
  found.ptr.assign(graph.handles + 1, 0);
  for (const int handle : graph.access_handle) ++found.ptr[handle + 1];
  std::partial_sum(found.ptr.begin(), found.ptr.end(), found.ptr.begin());
  found.items.resize(found.ptr.back());
  auto next = found.ptr;
  for (int task = 0; task < graph.tasks; ++task)
    for (i64 k = graph.access_ptr[task]; k < graph.access_ptr[task + 1]; ++k)
      found.items[next[graph.access_handle[k]]++] = {task, graph.access_mode[k] == COMMUTATIVE};
  return found;
}

Graph::Graph(const tasksim_graph &given) {
  expect(given.tasks >= 0 && given.tasks <= MAX_TASKS);
  expect(given.handles >= 0 && given.handles <= MAX_HANDLES);
  expect(given.kernels >= 0 && given.kernels <= MAX_TASKS && given.hints >= 0);
  expect(given.apart == 0 || given.apart == 1);
  tasks = static_cast<int>(given.tasks);
  handles = static_cast<int>(given.handles);
  kernels = static_cast<int>(given.kernels);
  kernel = array(given.kernel, tasks);
  priority = array(given.priority, tasks);
  successor_ptr = pointer(given.successor_ptr, tasks, given.edges);
  successors = array(given.successors, successor_ptr[tasks]);
  access_ptr = pointer(given.access_ptr, tasks, given.accesses);
  access_handle = array(given.access_handle, access_ptr[tasks]);
  access_mode = array(given.access_mode, access_ptr[tasks]);
  size = array(given.handle_size, handles);
  home = array(given.handle_home, handles);
  hint_after = array(given.hint_after, given.hints);
  hint_handle = array(given.hint_handle, given.hints);
  if (given.at_once) at_once = array(given.at_once, tasks);
  expect(given.starts >= 0 && given.starts <= given.tasks);
  starts = static_cast<int>(given.starts);
  expect_within(kernel, 0, kernels - 1);
  expect_within(successors, 0, tasks - 1);
  expect_within(access_handle, 0, handles - 1);
  expect_within(access_mode, R, SCRATCH);
  expect_within(size, 0, MAX_HANDLE_BYTES);
  i64 bytes = 0;
  for (const int handle : access_handle) expect((bytes += size[handle]) <= MAX_ACCESSES_BYTES);
  bytes = 0;
  for (const i64 each : size) expect((bytes += each) <= MAX_ACCESSES_BYTES);
  expect_within(home, 0, MAX_MEMORIES - 1);
  expect_within(hint_after, 0, tasks);
  expect_within(hint_handle, 0, handles - 1);

  predecessors.assign(tasks, 0);
  for (const int task : successors) ++predecessors[task];
  needs = ordered_needs(*this, given.apart != 0);
  exclusive = commutative_handles(*this);
  writers = writers_of(*this);
  if (given.hint_ptr) {
    const auto ptr = pointer(given.hint_ptr, given.hints, given.waits);
    const auto waits = array(given.hint_waits, ptr[given.hints]);
    const auto drops = array(given.hint_drops, given.hints);
    expect_within(waits, 0, tasks - 1);
    hint_waits.ptr.assign(ptr.begin(), ptr.end());
    hint_waits.items.assign(waits.begin(), waits.end());
    hint_drops.assign(drops.begin(), drops.end());
  } else {
    hint_waits = last_writers(*this);
    hint_drops.assign(hint_after.size(), 0);
  }
}

namespace {

// Ranks by sorting, or by a table of all possible priorities if there are not many more than tasks.
Ranks ranked(std::span<const std::int32_t> priority) {
  Ranks ranks;
  if (priority.empty()) return ranks;
  ranks.of.reserve(priority.size());
  const auto [low, high] = std::minmax_element(priority.begin(), priority.end());
  const i64 most = *high, range = most - *low + 1;
  if (range <= 4 * static_cast<i64>(priority.size())) {
    std::vector<std::int32_t> rank(range, 0);
    for (const i64 each : priority) rank[most - each] = 1;
    for (auto &here : rank) here = here ? static_cast<std::int32_t>(ranks.count++) : 0;
    for (const i64 each : priority) ranks.of.push_back(rank[most - each]);
    return ranks;
  }
  std::vector<std::int32_t> levels(priority.begin(), priority.end());
  std::sort(levels.begin(), levels.end(), std::greater<>{});
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  ranks.count = static_cast<i64>(levels.size());
  for (const auto each : priority) {
    const auto level = std::lower_bound(levels.begin(), levels.end(), each, std::greater<>{});
    ranks.of.push_back(static_cast<std::int32_t>(level - levels.begin()));
  }
  return ranks;
}

}  // namespace

const Ranks &Graph::ranks() const {
  std::call_once(ranked_, [this] { ranks_ = ranked(priority); });
  return ranks_;
}

Platform::Platform(const tasksim_platform &all) : given(all) {
  expect(given.workers >= 1 && given.workers <= 1 << 20);
  expect(given.classes >= 1 && given.classes <= MAX_CLASSES);
  expect(given.memories >= 1 && given.memories <= MAX_MEMORIES);
  expect(given.links >= 0 && given.links <= 1 << 20 && given.paths >= 0 && given.paths <= 1 << 20);
  workers = static_cast<int>(given.workers);
  classes = static_cast<int>(given.classes);
  memories = static_cast<int>(given.memories);
  links = static_cast<int>(given.links);
  class_of = array(given.class_of, workers);
  memory_of = array(given.memory_of, workers);
  node_of = array(given.node_of, workers);
  pipeline = array(given.pipeline, workers);
  nominal_speed = array(given.nominal_speed, workers);
  memory_bytes = array(given.memory_bytes, memories);
  path = array(given.path, i64{memories} * memories);
  expect_within(class_of, 0, classes - 1);
  expect_within(memory_of, 0, memories - 1);
  expect_within(pipeline, 0, 1 << 20);
  expect_within(path, -1, given.paths - 1);
  for (const double speed : nominal_speed) expect(speed > 0.0);
  for (const double bytes : memory_bytes) expect(!std::isnan(bytes));
  // A day: sums of overheads stay far below 2^63.
  constexpr i64 MAX_OVERHEAD_TICKS = 86'400'000'000'000;
  for (const i64 ticks :
       {given.submission, given.task, given.wakeup, given.push, given.fetch, given.progress,
        given.kernel, given.copy, given.start, given.allocate, given.free})
    expect(ticks >= 0 && ticks <= MAX_OVERHEAD_TICKS);
  for (const double seconds : {given.submission_s, given.task_s, given.wakeup_s})
    expect(seconds >= 0.0);
  expect(given.unit_bytes >= 1.0 && given.unit_bytes <= MAX_HANDLE_BYTES);
  expect(given.chunk_bytes >= 0.0 && given.chunk_bytes <= MAX_HANDLE_BYTES);
  expect(given.largest_bytes >= 0.0 && given.usable >= 0.0);
  expect(given.pin_s >= 0.0 && given.pin_s <= 1e5);
  for (const i64 limit : {given.fetches, given.prefetches, given.idle})
    expect(limit >= 0 && limit <= MAX_TASKS);
  array(given.fixed_s, i64{memories} * memories);
  array(given.per_byte_s, i64{memories} * memories);
  array(given.direct, i64{memories} * memories);
  for (const i64 latency : array(given.path_latency, given.paths))
    expect(latency >= 0 && latency <= MAX_OVERHEAD_TICKS);
  for (const double weight : array(given.path_weight, given.paths)) expect(weight > 0.0);
  for (const double limit : array(given.path_limit, given.paths)) expect(limit > 0.0);
  const auto path_ptr = pointer(given.path_ptr, given.paths, given.path_links);
  expect_within(array(given.path_link, path_ptr[given.paths]), 0, links - 1);
  expect_within(array(given.path_times, path_ptr[given.paths]), 1, 1 << 20);
  for (const double capacity : array(given.capacity, links)) expect(capacity > 0.0);

  class_workers.resize(classes);
  class_memory.assign(classes, 0);
  devices.assign(memories, false);
  for (int worker = 0; worker < workers; ++worker) {
    class_workers[class_of[worker]].push_back(worker);
    class_memory[class_of[worker]] = memory_of[worker];
    if (pipeline[worker]) devices[memory_of[worker]] = true;
  }
  for (const auto &members : class_workers) expect(!members.empty());
  driven_memories = static_cast<int>(std::count(devices.begin(), devices.end(), true));
}

}  // namespace tasksim
