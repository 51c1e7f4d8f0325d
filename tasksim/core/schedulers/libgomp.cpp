// libgomp: one queue for all threads, and a list of each task's children, as in GCC's OpenMP
// runtime (schedulers/libgomp.py).
#include <map>
#include <memory>
#include <unordered_map>

#include "openmp_threads.h"

namespace tasksim {

namespace {

// Tasks by priority, in the order in which they were pushed, of which some have been taken.
class Queue {
 public:
  void append(int task, i64 priority, u64 able) {
    lanes_[{-priority, able}].push_back({pushed_++, task});
  }

  // The oldest task of the highest priority that a worker of the class *bit* can run, or NONE; with
  // *within*, only of those for which it holds.
  template <class Within>
  int oldest(u64 bit, const std::vector<char> &queued, bool all, Within within) {
    Best best;
    for (auto &[key, lane] : lanes_) {
      while (!lane.empty() && !queued[lane.front().second]) lane.pop_front();
      if (!(key.second & bit)) continue;
      for (const Entry &entry : lane)
        if (all || (queued[entry.second] && within(entry.second))) {
          best.offer(key.first, entry);
          break;
        }
    }
    return best.task;
  }

  int newest(u64 bit, const std::vector<char> &queued) {
    Best best;
    for (auto &[key, lane] : lanes_) {
      while (!lane.empty() && !queued[lane.back().second]) lane.pop_back();
      if (!lane.empty() && (key.second & bit))
        best.offer(key.first, {-lane.back().first, lane.back().second});
    }
    return best.task;
  }

 private:
  using Entry = std::pair<i64, int>;  // the number of the push, and the task

  // The task with the least level and number of those offered.
  struct Best {
    void offer(i64 level, const Entry &entry) {
      const std::pair<i64, i64> offered{level, entry.first};
      if (task != NONE && !(offered < key)) return;
      key = offered;
      task = entry.second;
    }
    int task = NONE;
    std::pair<i64, i64> key{0, 0};
  };

  std::map<std::pair<i64, u64>, std::deque<Entry>> lanes_;
  i64 pushed_ = 0;
};

class LibGomp : public Scheduler {
 public:
  explicit LibGomp(const Options &options)
      : options_(options),
        throttle_(options.count("throttle")),
        max_priority_(options.count("max_priority")) {}

  void attach(View &given) override {
    Scheduler::attach(given);
    threads_ = std::make_unique<Threads>(given, Lives(options_, given.graph.tasks));
    most_ = throttle_ * given.workers();
    queued_.assign(given.graph.tasks, false);
    counted_.assign(threads_->known() ? given.graph.tasks : 0, false);
  }

  void push(int task) override {
    if (threads_->receive(task)) return;
    if (count_ > most_ && threads_->is_created(task)) {
      threads_->run_at_once(task, view->pusher);
      return;
    }
    const i64 priority =
        std::max<i64>(0, std::min<i64>(view->graph.priority[task], max_priority_));
    queued_[task] = true;
    ++queued_count_;
    all_.append(task, priority, view->able[task]);
    if (auto *log = view->decisions.get()) log->queued(task, log->shared(), -priority);
    if (!threads_->known()) {
      view->wake_any(task);
      return;
    }
    counted_[task] = true;
    ++count_;
    const int parent = threads_->lives.parent[task];
    if (parent != NONE) children_[parent].append(task, priority, view->able[task]);
    view->wake_all(task);
  }

  int pop(int worker) override {
    int task = threads_->next(worker);
    if (task == NONE) task = next_queued(worker);
    if (task == NONE && !threads_->executed) {
      task = threads_->last_resort(worker);
      if (task == NONE) threads_->alarm(queued_count_ > 0);
    }
    if (task != NONE) threads_->begin(task, worker);
    return task;
  }

  void finished(int task, int worker) override {
    threads_->end(task, worker);
    if (!threads_->known() || threads_->lives.next[task] != NONE) return;
    const int whole = threads_->lives.whole[task];
    if (counted_[whole]) {
      counted_[whole] = false;
      --count_;
    }
    children_.erase(whole);
  }

 private:
  int next_queued(int worker) {
    const u64 bit = u64{1} << view->platform.class_of[worker];
    const auto [whole, wait] = threads_->wait_of(worker);
    int task = NONE;
    if (wait == FREE) {
      task = all_.oldest(bit, queued_, true, [](int) { return true; });
    } else {
      const auto children = children_.find(whole);
      if (children != children_.end()) task = children->second.newest(bit, queued_);
      if (task == NONE && wait == GROUP)
        task = all_.oldest(bit, queued_, false,
                           [&, whole = whole](int each) { return threads_->descends(each, whole); });
    }
    if (task != NONE) {
      queued_[task] = false;
      --queued_count_;
    }
    return task;
  }

  const Options options_;
  const i64 throttle_, max_priority_;
  std::unique_ptr<Threads> threads_;
  i64 most_ = 0, count_ = 0, queued_count_ = 0;
  std::vector<char> queued_, counted_;
  Queue all_;
  std::unordered_map<int, Queue> children_;
};

const Register libgomp("libgomp",
                       [](const Options &options) { return std::make_unique<LibGomp>(options); });

}  // namespace

}  // namespace tasksim
