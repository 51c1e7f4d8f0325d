// multiprio: queues by what each architecture gains on a task; slow workers leave the fast their
// work (schedulers/multiprio.py).
#include <algorithm>
#include <set>

#include "scheduler.h"

namespace tasksim {

namespace {

class MultiPrio : public Scheduler {
 public:
  explicit MultiPrio(const Options &options)
      : candidates_(options.count("candidates")),
        tolerance_(options.number("tolerance")),
        architecture_(options.table("architecture")),
        first_(options.table("access_ptr")),
        handles_(options.table("access_handle")),
        writes_(options.table("writes")),
        sizes_(options.table("size_bytes")) {}

  void attach(View &given) override {
    Scheduler::attach(given);
    const Platform &platform = given.platform;
    if (static_cast<int>(architecture_.size()) != platform.classes) throw BadArrays{};
    if (static_cast<int>(first_.size()) != given.graph.tasks + 1) throw BadArrays{};
    for (const i64 architecture : architecture_)
      if (architecture < 0 || architecture >= platform.classes) throw BadArrays{};
    const i64 count = 1 + *std::ranges::max_element(architecture_);
    workers_.assign(count, 0);
    for (const int group : platform.class_of) ++workers_[architecture_[group]];
    apart_ = std::ranges::any_of(platform.class_memory, [](int memory) { return memory != 0; });
    largest_.assign(count, 0.0);
    left_.assign(count, 0.0);
    queues_.resize(platform.classes);
    keys_.resize(given.graph.tasks);
    durations_.resize(given.graph.tasks);
  }

  void push(int task) override {
    Durations &of = durations_[task] = durations_of(task);
    double second = INF;
    for (i64 k = 0; k < count(); ++k)
      if (k != of.fastest) second = std::min(second, of.on[k]);
    double released = 0.0;
    for (const int after : view->graph.successors_of(task))
      released += 1.0 / std::max(1, view->graph.predecessors[after]);
    for (i64 k = 0; k < count(); ++k) {
      const double duration = of.on[k];
      if (duration == INF) continue;
      double gain = 1.0;
      if (second < INF) {
        const double difference = (k == of.fastest ? second : of.on[of.fastest]) - duration;
        const double largest = largest_[k] = std::max(largest_[k], std::abs(difference));
        gain = largest > 0.0 ? (difference + largest) / (2 * largest) : 0.5;
      }
      for (int group = 0; group < view->platform.classes; ++group)
        if (architecture_[group] == k && view->able[task] >> group & 1) {
          const Key key{-gain, -released, pushed_, task};
          const auto here = queues_[group].insert(key).first;
          if (auto *log = view->decisions.get())
            log->queued_at(task, log->shared(group), std::distance(queues_[group].begin(), here), true);
          keys_[task].emplace_back(group, key);
        }
    }
    left_[of.fastest] += of.on[of.fastest];
    ++pushed_;
    view->wake_all(task);
  }

  int pop(int worker) override {
    const int group = view->platform.class_of[worker];
    auto &queue = queues_[group];
    while (!queue.empty()) {
      const auto place = nearest(queue, view->platform.class_memory[group]);
      const int task = place->task;
      const Durations &of = durations_[task];
      const double own = of.on[architecture_[group]], least = of.on[of.fastest];
      if (own == least || left_[of.fastest] / workers_[of.fastest] > own) {
        left_[of.fastest] -= least;
        for (const auto &[other, key] : keys_[task]) {
          const bool there = queues_[other].erase(key) > 0;
          if (auto *log = view->decisions.get(); log && there && other != group)
            log->left(task, log->shared(other));
        }
        keys_[task] = {};
        durations_[task] = {};
        return task;
      }
      queue.erase(place);  // from the others later, if at all: erasing it twice does nothing
      if (auto *log = view->decisions.get()) log->left(task, log->shared(group));
    }
    return NONE;
  }

 private:
  struct Key {
    double gain, released;  // both negative: the largest is first
    i64 pushed;
    int task;
    auto operator<=>(const Key &) const = default;
  };
  using Queue = std::set<Key>;

  // Per architecture, the duration of a task; the first of the fastest ones.
  struct Durations {
    std::vector<double> on;
    i64 fastest = 0;
  };

  i64 count() const { return static_cast<i64>(workers_.size()); }

  Durations durations_of(int task) const {
    Durations found;
    found.on.assign(count(), INF);
    for (int group = 0; group < view->platform.classes; ++group)
      if (view->able[task] >> group & 1) {
        const double estimate = view->estimate_of_class(task, group);
        double &on = found.on[architecture_[group]];
        on = std::min(on, estimate > 0.0 ? estimate : 0.0);
      }
    found.fastest = std::ranges::min_element(found.on) - found.on.begin();
    return found;
  }

  Queue::iterator nearest(Queue &queue, int memory) {
    auto best = queue.begin();
    if (!apart_) return best;
    double most = -1.0;
    i64 place = 0;
    const double first = best->gain;
    for (auto each = queue.begin(); each != queue.end() && place < candidates_; ++each, ++place) {
      if (each->gain - first > tolerance_) break;
      double near = 0.0;
      for (i64 k = first_[each->task]; k < first_[each->task + 1]; ++k)
        if (view->holds(static_cast<int>(handles_[k]), memory)) {
          const double size = static_cast<double>(sizes_[handles_[k]]);
          near += writes_[k] ? size * size : size;
        }
      if (near > most) {
        best = each;
        most = near;
      }
    }
    return best;
  }

  i64 candidates_;
  double tolerance_;
  std::span<const i64> architecture_;  // per class
  std::span<const i64> first_, handles_, writes_;  // the data that each task moves
  std::span<const i64> sizes_;                     // per datum
  bool apart_ = false;                             // whether there are several memories
  std::vector<i64> workers_;                       // per architecture
  std::vector<double> largest_, left_;
  std::vector<Queue> queues_;                              // per class
  std::vector<std::vector<std::pair<int, Key>>> keys_;     // per ready task
  std::vector<Durations> durations_;
  i64 pushed_ = 0;
};

const Register multiprio("multiprio", [](const Options &options) {
  return std::make_unique<MultiPrio>(options);
});

}  // namespace

}  // namespace tasksim
