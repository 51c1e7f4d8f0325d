// Stress of native runs without Python, so that the thread sanitizer sees every thread.
//
//     native_stress TASKS WORKERS POLICY...
//
// Random graphs of tasks that do next to nothing: each checks that its predecessors are done, and
// notes that it is. Prints a line per policy; ends with 1 if a task was lost, doubled or early.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

#include "tasksim_core.h"

namespace {

using i64 = std::int64_t;

struct Dag {
  explicit Dag(int tasks) : kernel(tasks, 0), priority(tasks), predecessors(tasks) {
    std::mt19937 random(7);
    std::vector<std::vector<std::int32_t>> next(tasks);
    for (int task = 0; task < tasks; ++task) {
      priority[task] = static_cast<std::int32_t>(random() % 5);
      const int most = static_cast<int>(random() % 4);
      for (int k = 0; k < most && task; ++k) {
        const int before = task - 1 - static_cast<int>(random() % std::min(task, 50));
        if (!next[before].empty() && next[before].back() == task) continue;
        next[before].push_back(task);
        predecessors[task].push_back(before);
      }
    }
    for (const auto &each : next) {
      successors.insert(successors.end(), each.begin(), each.end());
      pointer.push_back(static_cast<i64>(successors.size()));
    }
    nothing.assign(tasks + 1, 0);
  }

  tasksim_graph arrays() const {
    tasksim_graph given{};
    given.tasks = static_cast<i64>(kernel.size());
    given.kernels = 1;
    given.edges = static_cast<i64>(successors.size());
    given.kernel = kernel.data();
    given.priority = priority.data();
    given.successor_ptr = pointer.data();
    given.successors = successors.data();
    given.access_ptr = nothing.data();
    return given;
  }

  std::vector<std::int32_t> kernel, priority, successors;
  std::vector<i64> pointer{0}, nothing;
  std::vector<std::vector<int>> predecessors;
};

struct Machine {
  explicit Machine(int count) : workers(count), zeros(count, 0), ones(count, 1.0) {}

  tasksim_platform arrays() const {
    tasksim_platform given{};
    given.workers = workers;
    given.classes = given.memories = 1;
    given.class_of = given.memory_of = given.node_of = given.pipeline = zeros.data();
    given.nominal_speed = ones.data();
    given.unit_bytes = 1.0;
    given.memory_bytes = &no_limit;
    given.fixed_s = given.per_byte_s = &zero;
    given.direct = &indirect;
    given.path = &no_path;
    given.path_ptr = &none;
    return given;
  }

  i64 workers;
  std::vector<std::int32_t> zeros;
  std::vector<double> ones;
  double zero = 0.0, no_limit = -1.0;
  std::int8_t indirect = 0;
  std::int32_t no_path = -1;
  i64 none = 0;
};

// What a task gets: itself, where it notes that it is done, whose it waits for.
struct Done {
  int times = 0;  // no atomic: that the tasks are in order is what makes this no race
  const std::vector<int> *before = nullptr;
  std::vector<Done> *all = nullptr;
};

extern "C" std::int32_t note(Done *task) {
  for (const int other : *task->before)
    if ((*task->all)[other].times != 1) return 1;
  return ++task->times != 1;
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool run(const Dag &dag, int workers, const char *policy, bool spins) {
  const auto given = dag.arrays();
  const Machine machine(workers);
  const auto platform_given = machine.arrays();
  std::int32_t status = 0;
  void *const graph = tasksim_graph_new(&given, &status);
  void *const platform = tasksim_platform_new(&platform_given, &status);
  const int tasks = static_cast<int>(given.tasks);
  std::vector<Done> done(tasks);
  std::vector<void *> arguments;
  std::vector<i64> pointer{0};
  for (int task = 0; task < tasks; ++task) {
    done[task].before = &dag.predecessors[task];
    done[task].all = &done;
    arguments.push_back(&done[task]);
    pointer.push_back(task + 1);
  }
  void *const address[] = {reinterpret_cast<void *>(note)};
  const std::int8_t tells[] = {TASKSIM_TELLS_RESULT};
  const std::int8_t reals[] = {0};
  const i64 own[] = {0, 0};
  tasksim_program program{};
  program.functions = 1;
  program.address = address;
  program.tells = tells;
  program.reals = reals;
  program.function = dag.kernel.data();
  program.argument_ptr = pointer.data();
  program.arguments = arguments.data();
  program.own_ptr = own;
  tasksim_scheduler scheduler{};
  scheduler.name = policy;
  const std::vector<double> estimates(tasks, 1e-6);
  void *const made = tasksim_native_new(graph, platform, &program, estimates.data(), &scheduler,
                                  nullptr, spins, &status);
  if (!made || tasksim_native_attach(made) != TASKSIM_DONE) {
    std::printf("%s: refused, %d\n", policy, status);
    return false;
  }
  std::vector<std::thread> threads;
  const double begun = seconds_now();
  tasksim_native_begin(made, begun);
  for (int worker = 0; worker < workers; ++worker)
    threads.emplace_back([made, worker] { tasksim_native_work(made, worker); });
  while (tasksim_native_submit(made, 0.1) == TASKSIM_MORE) {
  }
  while (tasksim_native_wait(made, 0.1) == TASKSIM_MORE) {
  }
  tasksim_native_finish(made, 1.0);
  for (auto &thread : threads) thread.join();
  const double took = seconds_now() - begun;
  tasksim_outcome outcome;
  status = tasksim_native_outcome(made, &outcome);
  i64 lost = 0;
  for (const Done &task : done) lost += task.times != 1;
  std::printf("%s: %d tasks, %d workers, status %d, %lld lost, %.2f us per task\n", policy,
              tasks, workers, status, static_cast<long long>(lost), 1e6 * took / std::max(1, tasks));
  tasksim_native_free(made);
  tasksim_platform_free(platform);
  tasksim_graph_free(graph);
  return status == TASKSIM_DONE && !lost;
}

}  // namespace

int main(int count, char **words) {
  if (count < 4) return 2;
  const int workers = std::atoi(words[2]);
  const Dag dag(std::atoi(words[1]));
  bool right = true;
  for (int k = 3; k < count; ++k)
    for (const bool spins : {false, true}) right &= run(dag, workers, words[k], spins);
  return right ? 0 : 1;
}
