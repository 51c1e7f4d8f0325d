// darts: the datum with the least transfer per task that it makes possible is next
// (schedulers/darts.py).
#include <algorithm>
#include <deque>
#include <tuple>

#include "scheduler.h"

namespace tasksim {

namespace {

class Darts : public Scheduler {
 public:
  explicit Darts(const Options &options)
      : first_(options.table("read_ptr")),
        handles_(options.table("read_handle")),
        sizes_(options.table("size_bytes")) {}

  void attach(View &given) override {
    Scheduler::attach(given);
    const int classes = given.platform.classes;
    if (static_cast<int>(first_.size()) != given.graph.tasks + 1) throw BadArrays{};
    sources_ = 1 + *std::ranges::max_element(given.platform.class_memory);
    planned_.resize(classes);
    uses_.assign(classes, std::vector<int>(sizes_.size(), 0));
    begun_.assign(classes, false);
    candidate_of_.assign(sizes_.size(), NONE);
  }

  void push(int task) override {
    const int classes = view->platform.classes;
    ++turn_;
    for (int k = 0; k < classes; ++k) {
      const int group = static_cast<int>((turn_ + k) % classes);
      if (!(view->able[task] >> group & 1) || !is_free(task, group)) continue;
      plan(task, group, place(group));
      for (const int worker : view->platform.class_workers[group])
        if (view->sleeping(worker)) view->wake(worker);
      return;
    }
    waiting_.push_back(task);
    if (auto *log = view->decisions.get()) log->queued(task, log->shared(classes));
    view->wake_all(task);
  }

  int pop(int worker) override {
    const int group = view->platform.class_of[worker];
    auto &planned = planned_[group];
    if (planned.empty() && !waiting_.empty()) {
      const std::vector<int> tasks = chosen(group);
      for (const int task : tasks) plan(task, group, planned.size());
      auto next = tasks.begin();  // they wait in this order
      std::erase_if(waiting_,
                    [&](int task) { return next != tasks.end() && *next == task && (++next, true); });
    }
    if (planned.empty()) return NONE;
    const int task = planned.front();
    planned.pop_front();
    for (const i64 handle : reads(task)) --uses_[group][handle];
    return task;
  }

 private:
  // What a class could do with one more datum.
  struct Candidate {
    i64 handle;
    std::vector<int> free = {};  // tasks that lack nothing else
    double free_s = 0.0, all_s = 0.0;
    i64 priority = 0;  // the highest of the free tasks
    i64 nearly = 0;    // tasks that lack one more datum
    int nearly_task = NONE;
  };

  std::span<const i64> reads(int task) const {
    return handles_.subspan(first_[task], first_[task + 1] - first_[task]);
  }

  bool held(i64 handle, int memory) const { return view->holds(static_cast<int>(handle), memory); }

  bool is_free(int task, int group) const {
    const int memory = view->platform.class_memory[group];
    return std::ranges::all_of(
        reads(task), [&](i64 handle) { return uses_[group][handle] || held(handle, memory); });
  }

  std::size_t place(int group) const {
    const int memory = view->platform.class_memory[group];
    const auto lacks = [&](int task) {
      return !std::ranges::all_of(reads(task), [&](i64 handle) { return held(handle, memory); });
    };
    return std::ranges::find_if(planned_[group], lacks) - planned_[group].begin();
  }

  void plan(int task, int group, std::size_t place) {
    auto &planned = planned_[group];
    planned.insert(planned.begin() + static_cast<i64>(place), task);
    if (auto *log = view->decisions.get())
      log->queued_at(task, log->shared(group), static_cast<i64>(place));
    for (const i64 handle : reads(task)) ++uses_[group][handle];
  }

  std::vector<int> chosen(int group) {
    std::vector<int> able;
    for (const int task : waiting_)
      if (view->able[task] >> group & 1) able.push_back(task);
    if (able.empty()) return {};
    if (!begun_[group]) {
      begun_[group] = true;
      return {most_urgent(able)};
    }
    const int memory = view->platform.class_memory[group];
    const auto priority = view->graph.priority;
    std::vector<int> ready;
    std::vector<Candidate> candidates;
    for (const int task : able) {
      missing_.clear();
      for (const i64 handle : reads(task))
        if (!held(handle, memory)) missing_.push_back(handle);
      if (missing_.empty()) ready.push_back(task);
      const double estimate = view->estimate_of_class(task, group);
      const double seconds = estimate > 0.0 ? estimate : 0.0;
      for (const i64 handle : missing_) {
        if (candidate_of_[handle] == NONE) {
          candidate_of_[handle] = static_cast<int>(candidates.size());
          candidates.push_back({.handle = handle});
        }
        Candidate &found = candidates[candidate_of_[handle]];
        found.all_s += seconds;
        if (missing_.size() == 1) {
          found.priority =
              found.free.empty() ? priority[task] : std::max<i64>(found.priority, priority[task]);
          found.free.push_back(task);
          found.free_s += seconds;
        } else if (missing_.size() == 2) {
          ++found.nearly;
          if (found.nearly_task == NONE || priority[task] > priority[found.nearly_task])
            found.nearly_task = task;
        }
      }
    }
    for (const Candidate &each : candidates) candidate_of_[each.handle] = NONE;
    if (!ready.empty()) return ready;
    const Candidate *best = nullptr;
    Order least;
    for (const Candidate &each : candidates) {
      if (each.free.empty() && !each.nearly) continue;
      const Order order = order_of(each, memory);
      if (best && !(order < least)) continue;
      best = &each;
      least = order;
    }
    if (!best) return {most_urgent(able)};
    return best->free.empty() ? std::vector<int>{best->nearly_task} : best->free;
  }

  using Order = std::tuple<double, i64, i64, i64, double>;

  // The key of a datum; the smallest is chosen.
  Order order_of(const Candidate &found, int memory) const {
    const double ratio = found.free_s > 0.0 ? transfer_s(found.handle, memory) / found.free_s : INF;
    const i64 priority =
        found.free.empty() ? view->graph.priority[found.nearly_task] : found.priority;
    return {ratio, -static_cast<i64>(found.free.size()), -priority, -found.nearly, -found.all_s};
  }

  double transfer_s(i64 handle, int memory) const {
    double least = INF;
    bool somewhere = false;
    for (int source = 0; source < sources_; ++source)
      if (source != memory && held(handle, source)) {
        somewhere = true;
        least = std::min(
            least, view->copy_estimate(static_cast<double>(sizes_[handle]), source, memory));
      }
    return somewhere ? least : 0.0;
  }

  // Of the highest priority, the first.
  int most_urgent(const std::vector<int> &able) const {
    return *std::ranges::max_element(able, {}, [&](int task) { return view->graph.priority[task]; });
  }

  std::span<const i64> first_, handles_;  // the data that each task reads
  std::span<const i64> sizes_;            // per datum
  int sources_ = 1;
  std::vector<std::deque<int>> planned_;  // per class
  std::vector<std::vector<int>> uses_;    // per class and datum, planned tasks that read it
  std::vector<bool> begun_;               // per class
  std::vector<int> waiting_;              // ready tasks that are not planned
  i64 turn_ = -1;
  std::vector<i64> missing_;
  std::vector<int> candidate_of_;  // per datum, while the tasks are looked at
};

const Register darts("darts", [](const Options &options) {
  return std::make_unique<Darts>(options);
});

}  // namespace

}  // namespace tasksim
