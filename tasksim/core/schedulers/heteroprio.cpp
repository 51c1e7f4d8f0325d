// heteroprio: buckets of tasks by kernel; each architecture has its own order of buckets
// (schedulers/heteroprio.py).
#include <algorithm>

#include "heteroprio_buckets.h"

namespace tasksim {

namespace {

constexpr int MAX_HELD_TASKS = 2;  // tasks that a worker holds

class Heteroprio : public Scheduler {
 public:
  explicit Heteroprio(const Options &options)
      : options_(options), given_(options.flag("given")) {}

  void attach(View &given) override {
    Scheduler::attach(given);
    const int workers = given.workers();
    read_architectures();
    buckets_ = make_buckets();
    told_.assign(workers, false);
    stacks_.resize(buckets_->takers.size());
    left_.assign(workers_.size(), 0);
    held_.assign(workers_.size(), 0);
    own_.resize(workers);
    since_.assign(workers, 0.0);
  }

  void push(int task) override {
    buckets_->pushed(task, view->pusher == NONE);
    const int bucket = buckets_->bucket_of[task];
    stacks_[bucket].push_back(task);
    if (auto *log = view->decisions.get()) log->queued_at(task, log->shared(bucket), 0);
    for (const int architecture : buckets_->takers[bucket]) ++left_[architecture];
    wake(task, bucket);
  }

  int pop(int worker) override {
    told_[worker] = false;
    const int architecture = architecture_[worker];
    auto &own = own_[worker];
    const int added = left_[architecture] ? top_up(worker, architecture) : 0;
    if (own.empty()) return held_[architecture] ? steal(worker, architecture) : NONE;
    --held_[architecture];
    const int task = own.front();
    own.erase(own.begin());
    if (added && left_[architecture])
      for (int k = 0; k < added && k < static_cast<int>(own.size()); ++k)
        view->prefetch(own[k], view->platform.memory_of[worker]);
    return task;
  }

  void started(int /*task*/, int worker) override { since_[worker] = view->now(); }

  void finished(int task, int worker) override {
    const double now = view->now();
    buckets_->executed(task, architecture_[worker], now - since_[worker]);
    since_[worker] = now;
  }

 private:
  void read_architectures() {
    const auto table = options_.table("architecture"), host = options_.table("host");
    const std::size_t workers = table.size();
    if (static_cast<int>(workers) != view->workers() || host.size() != workers) throw BadArrays{};
    for (std::size_t worker = 0; worker < workers; ++worker) {
      if (table[worker] < 0 || table[worker] >= view->workers()) throw BadArrays{};
      architecture_.push_back(static_cast<int>(table[worker]));
      if (host[worker]) host_ = architecture_.back();
    }
    workers_.resize(1 + *std::ranges::max_element(architecture_));
    for (int worker = 0; worker < view->workers(); ++worker)
      workers_[architecture_[worker]].push_back(worker);
    for (const auto &workers : workers_)
      if (workers.empty()) throw BadArrays{};
  }

  std::unique_ptr<Buckets> make_buckets() {
    const int count = static_cast<int>(workers_.size());
    if (given_) return std::make_unique<GivenBuckets>(*view, options_, count);
    std::vector<int> of_class;
    for (const auto &workers : view->platform.class_workers)
      of_class.push_back(architecture_[workers.front()]);
    return std::make_unique<LearnedBuckets>(*view, options_, of_class, count);
  }

  // Wakes the sleeping workers that can run *task*, by number, up to one that may take it.
  void wake(int task, int bucket) {
    for (int worker = 0; worker < view->workers(); ++worker)
      if (view->sleeping(worker) && !told_[worker] && view->can_run(task, worker)) {
        told_[worker] = true;
        view->wake(worker);
        if (may_take(bucket, architecture_[worker])) return;
      }
  }

  bool may_take(int bucket, int architecture) const {
    const int fastest = buckets_->fastest[bucket];
    if (fastest == host_ || fastest == architecture) return true;
    const double per_worker = static_cast<double>(stacks_[bucket].size()) /
                              static_cast<double>(workers_[fastest].size());
    return per_worker >= buckets_->slow[bucket][architecture];
  }

  // Lets *worker* take tasks; returns their number.
  int top_up(int worker, int architecture) {
    const auto &own = own_[worker];
    const i64 left = left_[architecture];
    i64 wanted = std::min<i64>(MAX_HELD_TASKS - static_cast<i64>(own.size()), left);
    if (left < view->workers()) wanted = own.empty() ? 1 : 0;
    int added = 0;
    for (const int bucket : buckets_->orders[architecture]) {
      if (added == wanted) break;
      auto &stack = stacks_[bucket];
      while (!stack.empty() && added < wanted && may_take(bucket, architecture) &&
             view->can_run(stack.back(), worker)) {
        hold(worker, stack.back());
        stack.pop_back();
        ++added;
        for (const int taker : buckets_->takers[bucket]) --left_[taker];
      }
    }
    held_[architecture] += added;
    return added;
  }

  // Puts *task* before the tasks of the same priority that *worker* holds.
  void hold(int worker, int task) {
    const auto priority = view->graph.priority;
    auto &own = own_[worker];
    const auto less_urgent = [&](int held) { return priority[held] <= priority[task]; };
    const auto before = std::ranges::find_if(own, less_urgent);
    if (auto *log = view->decisions.get()) log->queued_at(task, worker, before - own.begin());
    own.insert(before, task);
  }

  int steal(int worker, int architecture) {
    const auto &ring = workers_[architecture];
    const std::size_t mine = std::ranges::lower_bound(ring, worker) - ring.begin();
    for (std::size_t k = 1; k < ring.size(); ++k) {
      auto &own = own_[ring[(mine + k) % ring.size()]];
      for (std::size_t index = 0; index < own.size(); ++index)
        if (view->can_run(own[index], worker)) {
          const int task = own[index];
          own.erase(own.begin() + static_cast<i64>(index));
          --held_[architecture];
          return task;
        }
    }
    return NONE;
  }

  Options options_;
  bool given_;                             // whether the user gave the orders
  int host_ = NONE;                        // architecture of the CPUs; NONE: there are none
  std::vector<int> architecture_;          // per worker
  std::vector<std::vector<int>> workers_;  // per architecture
  std::unique_ptr<Buckets> buckets_;
  std::vector<bool> told_;
  std::vector<std::vector<int>> stacks_;  // per bucket
  std::vector<i64> left_, held_;          // per architecture: tasks it may take, tasks it holds
  std::vector<std::vector<int>> own_;     // per worker, the tasks that it holds
  std::vector<double> since_;
};

const Register heteroprio("heteroprio", [](const Options &options) {
  return std::make_unique<Heteroprio>(options);
});

}  // namespace

}  // namespace tasksim
