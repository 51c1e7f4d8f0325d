// libomp: a deque per thread and random victims, as in LLVM's OpenMP runtime
// (schedulers/libomp.py).
#include <map>
#include <memory>
#include <set>

#include "openmp_threads.h"

namespace tasksim {

namespace {

class LibOmp : public Scheduler {
 public:
  explicit LibOmp(const Options &options)
      : options_(options),
        rng_(options.twister()),
        limit_(options.count("deque")),
        max_priority_(options.count("max_priority")) {}

  void attach(View &given) override {
    Scheduler::attach(given);
    threads_ = std::make_unique<Threads>(given, Lives(options_, given.graph.tasks));
    deques_.resize(given.workers());
    released_from_.assign(given.workers(), 0);
    last_victim_.assign(given.workers(), NONE);
    const auto &binding = threads_->lives.binding;
    looks_further_ = std::ranges::find(binding, static_cast<int>(FREE)) != binding.end();
  }

  void push(int task) override {
    if (threads_->receive(task)) return;
    const i64 priority = std::min<i64>(view->graph.priority[task], max_priority_);
    if (priority > 0) {
      levels_[-priority].push_back(task);
      if (auto *log = view->decisions.get()) log->queued(task, log->shared(), -priority);
      view->wake_all(task);
      return;
    }
    const int pusher = view->pusher;
    const int owner = threads_->able_from(task, pusher == NONE ? 0 : pusher);
    Tasks &tasks = deques_[owner];
    if (static_cast<i64>(tasks.size()) >= limit_ && owner == pusher && may_begin(task, owner)) {
      threads_->run_at_once(task, owner);
      return;
    }
    std::size_t place = tasks.size();
    if (owner == pusher)  // of those released together, the oldest is taken first
      place = std::min(released_from_[owner], place);
    tasks.insert(tasks.begin() + place, task);
    if (auto *log = view->decisions.get()) log->queued_at(task, owner, place);
    if (tasks.size() == 1) loaded_.insert(owner);
    view->wake_all(task);
  }

  int pop(int worker) override {
    refused_.erase(worker);
    int task = threads_->next(worker);
    if (task == NONE) task = queued(worker);
    if (task == NONE && !threads_->executed) task = last_resort(worker);
    if (task != NONE) threads_->begin(task, worker);
    return task;
  }

  void finished(int task, int worker) override {
    threads_->end(task, worker);
    released_from_[worker] = deques_[worker].size();
  }

 private:
  using Tasks = std::deque<int>;

  bool may_begin(int task, int worker) const {
    return !threads_->known() || threads_->may_begin(task, threads_->tied_to(worker));
  }

  int queued(int worker) {
    const int tied = threads_->tied_to(worker);
    int task = with_priority(worker, tied);
    if (task == NONE) task = own(worker, tied);
    return task == NONE ? stolen(worker, tied) : task;
  }

  int last_resort(int worker) {
    const int tied = threads_->tied_to(worker);
    for (auto level = levels_.rbegin(); level != levels_.rend(); ++level)  // the lowest first
      if (const int place = first(level->second, worker, tied); place != NONE)
        return take_level(std::next(level).base(), place);
    for (int owner = 0; owner < view->workers(); ++owner)
      if (const int place = first(deques_[owner], worker, tied); place != NONE)
        return take(owner, place);
    const int task = threads_->last_resort(worker);
    if (task == NONE) threads_->alarm(!levels_.empty() || !loaded_.empty());
    return task;
  }

  int first(const Tasks &tasks, int worker, int tied) const {
    for (std::size_t place = 0; place < tasks.size(); ++place)
      if (view->can_run(tasks[place], worker) && threads_->may_begin(tasks[place], tied))
        return static_cast<int>(place);
    return NONE;
  }

  int take_level(std::map<i64, Tasks>::iterator level, int place) {
    Tasks &tasks = level->second;
    const int task = tasks[place];
    tasks.erase(tasks.begin() + place);
    if (tasks.empty())
      levels_.erase(level);
    else
      let_refused_look();
    return task;
  }

  void let_refused_look() {
    for (const int worker : refused_) view->wake(worker);
    refused_.clear();
  }

  int with_priority(int worker, int tied) {
    for (auto level = levels_.begin(); level != levels_.end(); ++level) {
      Tasks &tasks = level->second;
      const int place = oldest(tasks, worker, tied);
      if (place != NONE) return take_level(level, place);
    }
    return NONE;
  }

  int own(int worker, int tied) {
    const Tasks &tasks = deques_[worker];
    if (tasks.empty() || !begins(tasks.back(), worker, tied)) return NONE;
    return take(worker, static_cast<int>(tasks.size()) - 1);
  }

  int stolen(int thief, int tied) {
    const int last = last_victim_[thief];
    if (last != NONE) {
      const int place = oldest(deques_[last], thief, tied);
      if (place != NONE) return take(last, place);
    }
    found_.clear();
    for (const int victim : loaded_) {
      if (victim == thief || victim == last) continue;
      const int place = oldest(deques_[victim], thief, tied);
      if (place != NONE) found_.push_back({victim, place});
    }
    if (found_.empty()) {
      last_victim_[thief] = NONE;
      return NONE;
    }
    const auto count = found_.size();
    const auto drawn =
        count > 1 ? static_cast<std::size_t>(rng_.random() * static_cast<double>(count)) : 0;
    last_victim_[thief] = found_[drawn].first;
    return take(found_[drawn].first, found_[drawn].second);
  }

  // The place of the oldest task that *worker* can run, or NONE if it must not.
  int oldest(const Tasks &tasks, int worker, int tied) {
    for (std::size_t place = 0; place < tasks.size(); ++place) {
      if (!view->can_run(tasks[place], worker)) continue;
      if (begins(tasks[place], worker, tied)) return static_cast<int>(place);
      if (!looks_further_) break;
    }
    return NONE;
  }

  bool begins(int task, int worker, int tied) {
    if (tied == NONE || threads_->may_begin(task, tied)) return true;
    refused_.insert(worker);
    return false;
  }

  int take(int owner, int place) {
    Tasks &tasks = deques_[owner];
    const int task = tasks[place];
    tasks.erase(tasks.begin() + place);
    if (static_cast<std::size_t>(place) < released_from_[owner]) --released_from_[owner];
    if (tasks.empty())
      loaded_.erase(owner);
    else
      let_refused_look();
    return task;
  }

  const Options options_;
  Twister rng_;
  const i64 limit_, max_priority_;
  std::unique_ptr<Threads> threads_;
  std::vector<Tasks> deques_;
  std::set<int> loaded_;  // workers whose deques have tasks
  std::vector<std::size_t> released_from_;
  std::vector<int> last_victim_;
  std::map<i64, Tasks> levels_;  // by priority, negated
  std::set<int> refused_;
  std::vector<std::pair<int, int>> found_;
  bool looks_further_ = false;
};

const Register libomp("libomp",
                      [](const Options &options) { return std::make_unique<LibOmp>(options); });

}  // namespace

}  // namespace tasksim
