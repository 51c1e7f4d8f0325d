// Static scheduler: follows a plan; each worker runs its own tasks (schedulers/static/follower.py).
//
// Python makes the plan and passes it as tables: the tasks of each worker, the worker of each task,
// the data to send after each task, and the data that it reads and no task writes.
#include <algorithm>
#include <functional>
#include <queue>

#include "scheduler.h"

namespace tasksim {

namespace {

constexpr int LOOKAHEAD_TASKS = 4;  // tasks before its turn at which its constant data are fetched

// Rows of a table, one after the other; another table has their starts.
class Rows {
 public:
  Rows(const Options &options, const std::string &name, i64 rows)
      : ptr_(options.table(name + "_ptr")), items_(options.table(name)) {
    expect(static_cast<i64>(ptr_.size()) == rows + 1 && std::ranges::is_sorted(ptr_));
    expect(ptr_.front() == 0 && ptr_.back() == static_cast<i64>(items_.size()));
  }
  std::span<const i64> operator[](i64 row) const {
    return items_.subspan(ptr_[row], ptr_[row + 1] - ptr_[row]);
  }

 private:
  std::span<const i64> ptr_, items_;
};

// Planned transfers: per task, pairs of a datum and a memory.
class DataSender {
 public:
  DataSender(View &view, const Options &options)
      : view_(&view),
        written_(options, "written", view.graph.tasks),
        initial_(options, "initial", view.graph.tasks) {
    for (int task = 0; task < view.graph.tasks; ++task) {
      check(written_[task]);
      check(initial_[task]);
    }
  }

  // Sends the data that *task* has written to its readers' memories.
  void written(int task) { send(written_[task]); }
  // Sends the data that *task* reads and no task writes to its memory.
  void initial(int task) { send(initial_[task]); }

 private:
  void check(std::span<const i64> pairs) const {
    expect(pairs.size() % 2 == 0);
    for (std::size_t k = 0; k < pairs.size(); k += 2) {
      expect(pairs[k] >= 0 && pairs[k] < view_->graph.handles);
      expect(pairs[k + 1] >= 0 && pairs[k + 1] < view_->platform.memories);
    }
  }

  void send(std::span<const i64> pairs) {
    for (std::size_t k = 0; k < pairs.size(); k += 2)
      view_->prefetch_handle(static_cast<int>(pairs[k]), static_cast<int>(pairs[k + 1]));
  }

  View *view_;
  Rows written_, initial_;
};

class StaticScheduler : public Scheduler {
 public:
  explicit StaticScheduler(const Options &options)
      : options_(options), strict_(options.flag("strict")) {}

  void attach(View &given) override {
    Scheduler::attach(given);
    const int workers = given.workers(), tasks = given.graph.tasks;
    const Rows lists(options_, "list", workers);
    worker_.assign(tasks, NONE);
    turn_.assign(tasks, 0);
    for (int worker = 0; worker < workers; ++worker) {
      lists_.emplace_back(lists[worker].begin(), lists[worker].end());
      for (std::size_t turn = 0; turn < lists_[worker].size(); ++turn) {
        const i64 task = lists[worker][turn];
        expect(task >= 0 && task < tasks && worker_[task] == NONE);
        worker_[task] = worker;
        turn_[task] = static_cast<int>(turn);
      }
    }
    expect(std::ranges::find(worker_, NONE) == worker_.end());
    next_.assign(workers, 0);
    ready_.assign(tasks, false);
    taken_.assign(tasks, false);
    early_.resize(workers);
    commuting_.assign(tasks, false);
    for (const i64 task : options_.table("commuting")) {
      expect(task >= 0 && task < tasks);
      commuting_[task] = true;
    }
    post_ = std::make_unique<DataSender>(given, options_);
  }

  void push(int task) override {
    if (!begun_) begin();
    const int worker = worker_[task];
    ready_[task] = true;
    if (auto *log = view->decisions.get()) log->queued(task, worker, turn_[task]);
    view->prefetch(task, view->platform.memory_of[worker]);
    if (!strict_ || commuting_[task]) {
      early_[worker].push(turn_[task]);
      view->wake(worker);
    } else if (turn_[task] == next_[worker]) {
      view->wake(worker);
    }
  }

  int pop(int worker) override {
    const auto &tasks = lists_[worker];
    const int count = static_cast<int>(tasks.size());
    int turn = next_[worker];
    while (turn < count && taken_[tasks[turn]]) ++turn;
    next_[worker] = turn;
    if (strict_ && turn < count && ready_[tasks[turn]]) return take(worker, turn);
    auto &early = early_[worker];
    while (!early.empty()) {
      turn = early.top();
      early.pop();
      if (!taken_[tasks[turn]]) return take(worker, turn);
    }
    return NONE;
  }

  void finished(int task, int /*worker*/) override { post_->written(task); }

 private:
  void begin() {
    begun_ = true;
    for (const auto &tasks : lists_)
      for (int turn = 0; turn < LOOKAHEAD_TASKS && turn < static_cast<int>(tasks.size()); ++turn)
        post_->initial(tasks[turn]);
  }

  int take(int worker, int turn) {
    const auto &tasks = lists_[worker];
    const int later = turn + LOOKAHEAD_TASKS;
    if (later < static_cast<int>(tasks.size()) && !taken_[tasks[later]])
      post_->initial(tasks[later]);
    taken_[tasks[turn]] = true;
    return tasks[turn];
  }

  using Turns = std::priority_queue<int, std::vector<int>, std::greater<>>;  // the first on top

  Options options_;
  bool strict_;  // whether a worker waits for the next task of its list
  std::vector<std::vector<int>> lists_;
  std::vector<int> worker_, turn_;  // per task
  std::vector<int> next_;           // per worker
  std::vector<bool> ready_, taken_;
  std::vector<Turns> early_;
  std::vector<bool> commuting_;
  std::unique_ptr<DataSender> post_;
  bool begun_ = false;
};

const Register follower("static", [](const Options &options) {
  return std::make_unique<StaticScheduler>(options);
});

}  // namespace

}  // namespace tasksim
