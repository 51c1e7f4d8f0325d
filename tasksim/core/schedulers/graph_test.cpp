// graph_test: tasks by their place in the whole graph, on the faster kind of worker
// (schedulers/graph_test.py).
#include <algorithm>
#include <bit>

#include "queues.h"

namespace tasksim {

namespace {

// Per task the number of dependencies on the longest path to the end of the graph.
std::vector<std::int32_t> depths(const Graph &graph) {
  std::vector<std::int32_t> depth(graph.tasks, 0);
  for (int task = graph.tasks - 1; task >= 0; --task)
    for (const int after : graph.successors_of(task))
      depth[task] = std::max(depth[task], 1 + depth[after]);
  return depth;
}

// Per task the number of its direct and indirect successors.
std::vector<std::int32_t> descendants(const Graph &graph) {
  using Set = std::vector<u64>;  // a bit per task; kept until all predecessors have used it
  std::vector<Set> reached(graph.tasks);
  std::vector<std::int32_t> waiting = graph.predecessors, counts(graph.tasks, 0);
  for (int task = graph.tasks - 1; task >= 0; --task) {
    Set below(graph.tasks / 64 + 1, 0);
    for (const int after : graph.successors_of(task)) {
      for (std::size_t word = 0; word < reached[after].size(); ++word)
        below[word] |= reached[after][word];
      below[after / 64] |= u64{1} << after % 64;
      if (!--waiting[after]) reached[after] = Set{};
    }
    for (const u64 word : below) counts[task] += std::popcount(word);
    if (waiting[task]) reached[task] = std::move(below);
  }
  return counts;
}

// Number of tasks that can be ready together before any has run: those without predecessors, but
// only the first of tasks that exclude each other (graph/commutation.py).
int ready_at_first(const Graph &graph) {
  std::vector<bool> held(graph.handles, false);
  int ready = 0;
  for (int task = 0; task < graph.tasks; ++task) {
    if (graph.predecessors[task]) continue;
    if (graph.exclusive.empty()) {
      ++ready;
      continue;
    }
    const auto handles = graph.exclusive[task];
    if (std::ranges::any_of(handles, [&](int handle) { return held[handle]; })) continue;
    for (const int handle : handles) held[handle] = true;
    ++ready;
  }
  return ready;
}

class GraphTest : public Scheduler {
 public:
  explicit GraphTest(const Options &options) : options_(options) {}

  void attach(View &given) override {
    Scheduler::attach(given);
    priority_ = options_.flag("descendants") ? descendants(given.graph) : depths(given.graph);
    for (int side = 0; side < 2; ++side) queues_.emplace_back(given, priority_, side);
    const auto host = options_.table("host");
    if (static_cast<i64>(host.size()) != given.workers()) throw BadArrays{};
    for (int worker = 0; worker < given.workers(); ++worker) {
      host_.push_back(host[worker] != 0);
      sides_[host_[worker]].push_back(worker);
    }
    told_.assign(given.workers(), false);
    awaited_ = given.first_ready != NONE ? given.first_ready : ready_at_first(given.graph);
  }

  void push(int task) override {
    if (!awaited_) {
      wake(task, queue(task));
      return;
    }
    bag_.push_back(task);
    if (!--awaited_) open();
  }

  int pop(int worker) override {
    told_[worker] = false;
    return awaited_ ? NONE : queues_[host_[worker]].pop(worker);
  }

 private:
  void open() {
    for (const int task : bag_) queue(task);
    bag_.clear();
    for (int worker = 0; worker < view->workers(); ++worker) view->wake(worker);
  }

  // Queues *task* for one kind of workers; returns whether these are the CPUs.
  bool queue(int task) {
    double speed[2] = {0.0, 0.0};
    bool able[2] = {false, false};
    for (u64 mask = view->able[task]; mask; mask &= mask - 1) {
      const int group = std::countr_zero(mask);
      const auto &workers = view->platform.class_workers[group];
      const bool host = host_[workers.front()];
      const double duration = view->estimate_of_class(task, group);
      able[host] = true;
      // False for zero, and for unknown durations.
      if (duration > 0.0) speed[host] += static_cast<double>(workers.size()) / duration;
    }
    const bool side = able[true] && (!able[false] || speed[true] > speed[false]);
    queues_[side].push(task);
    return side;
  }

  void wake(int task, bool side) {
    for (const int worker : sides_[side])
      if (view->sleeping(worker) && !told_[worker] && view->can_run(task, worker)) {
        told_[worker] = true;
        view->wake(worker);
        return;
      }
  }

  Options options_;
  std::vector<std::int32_t> priority_;
  std::vector<PriorityQueue> queues_;  // of accelerators, of CPUs
  std::vector<bool> host_;             // per worker, whether it is a CPU
  std::vector<int> sides_[2];          // accelerators, CPUs
  std::vector<bool> told_;
  std::vector<int> bag_;
  int awaited_ = 0;
};

const Register graph_test("graph_test", [](const Options &options) {
  return std::make_unique<GraphTest>(options);
});

}  // namespace

}  // namespace tasksim
