#include "heteroprio_buckets.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

namespace tasksim {

namespace {

// The architectures that can run a task of the classes in *mask*, ascending.
std::vector<int> able(u64 mask, const std::vector<int> &architecture_of) {
  std::vector<int> found;
  for (; mask; mask &= mask - 1) found.push_back(architecture_of[std::countr_zero(mask)]);
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace

GivenBuckets::GivenBuckets(const View &view, const Options &options, int architectures) {
  const auto of_kernel = options.table("bucket_of_kernel");
  const auto order = options.table("order"), order_ptr = options.table("order_ptr");
  const auto fastest_of = options.table("fastest"), factors = options.table("slow");
  const i64 buckets = static_cast<i64>(fastest_of.size());
  const auto size = [](const auto &table) { return static_cast<i64>(table.size()); };
  const auto is_bucket = [&](i64 bucket) { return bucket >= 0 && bucket < buckets; };
  expect(size(of_kernel) == view.graph.kernels && size(order_ptr) == architectures + 1);
  expect(size(factors) == buckets * architectures && std::ranges::all_of(order, is_bucket));
  expect(order_ptr.front() == 0 && order_ptr.back() == size(order));
  expect(std::ranges::is_sorted(order_ptr));

  takers.resize(buckets);
  orders.resize(architectures);
  slow.resize(buckets);
  for (const int kernel : view.graph.kernel) {
    expect(is_bucket(of_kernel[kernel]));
    bucket_of.push_back(static_cast<int>(of_kernel[kernel]));
  }
  for (int architecture = 0; architecture < architectures; ++architecture)
    for (i64 k = order_ptr[architecture]; k < order_ptr[architecture + 1]; ++k) {
      const int bucket = static_cast<int>(order[k]);
      orders[architecture].push_back(bucket);
      takers[bucket].push_back(architecture);
    }
  for (i64 bucket = 0; bucket < buckets; ++bucket) {
    expect(fastest_of[bucket] >= 0 && fastest_of[bucket] < architectures);
    fastest.push_back(static_cast<int>(fastest_of[bucket]));
    for (int architecture = 0; architecture < architectures; ++architecture)
      slow[bucket].push_back(std::bit_cast<double>(factors[bucket * architectures + architecture]));
  }
}

LearnedBuckets::LearnedBuckets(const View &view, const Options &options,
                               std::vector<int> architecture_of, int architectures)
    : graph_(view.graph),
      architecture_of_(std::move(architecture_of)),
      interval_(std::max<i64>(1, options.count("interval"))) {
  number(view, options.table("model"));
  for (const u64 mask : masks_) takers.push_back(able(mask, architecture_of_));
  statistics_ = std::make_unique<Statistics>(takers, architectures);
  orders.resize(architectures);
  for (const auto &able : takers) fastest.push_back(able.front());
  slow.assign(masks_.size(), std::vector<double>(architectures, 1.0));
  if (options.flag("learned")) start_from_models(view);
}

void LearnedBuckets::pushed(int task, bool by_submission) {
  const int bucket = bucket_of[task];
  find(bucket);
  if (pushes_ % interval_ == 0) orders = statistics_->orders();
  ++pushes_;
  released_.clear();
  if (!by_submission)
    for (const int after : graph_.successors_of(task)) {
      const int other = bucket_of[after];
      auto entry = std::ranges::find(released_, other, &Statistics::Released::value_type::first);
      if (entry == released_.end()) entry = released_.insert(entry, {other, 0.0});
      entry->second += 1.0 / std::max(1, graph_.predecessors[after]);
    }
  for (const auto &[other, _] : released_) find(other);
  statistics_->pushed(bucket, released_);
  for (const int changed : stale_) {
    auto slowness = statistics_->slowness(changed);
    fastest[changed] = slowness.fastest;
    slow[changed] = std::move(slowness.times);
  }
  stale_.clear();
}

void LearnedBuckets::executed(int task, int architecture, double duration) {
  const int bucket = bucket_of[task];
  statistics_->executed(bucket, architecture, duration);
  if (std::ranges::find(stale_, bucket) == stale_.end()) stale_.push_back(bucket);
}

// Numbers the buckets: tasks with the same kernel model and able workers.
void LearnedBuckets::number(const View &view, std::span<const i64> model_of_kernel) {
  expect(static_cast<i64>(model_of_kernel.size()) == graph_.kernels);
  std::map<std::pair<i64, u64>, int> kinds;
  const auto kind_of = [&](int task) {
    return std::pair{model_of_kernel[graph_.kernel[task]], view.able[task]};
  };
  for (int task = 0; task < graph_.tasks; ++task) kinds[kind_of(task)] = 0;
  for (auto &[kind, bucket] : kinds) {
    bucket = static_cast<int>(masks_.size());
    masks_.push_back(kind.second);
  }
  for (int task = 0; task < graph_.tasks; ++task) bucket_of.push_back(kinds[kind_of(task)]);
}

// The mean over a bucket's tasks; of several classes, that of the first one.
void LearnedBuckets::start_from_models(const View &view) {
  const std::size_t buckets = masks_.size();
  std::vector<double> tasks(buckets, 0.0);
  for (const int bucket : bucket_of) ++tasks[bucket];
  for (int group = view.platform.classes - 1; group >= 0; --group) {
    std::vector<double> total(buckets, 0.0);
    for (int task = 0; task < graph_.tasks; ++task)
      total[bucket_of[task]] += view.estimate_of_class(task, group);
    for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
      const double mean = total[bucket] / tasks[bucket];
      if (0.0 < mean && mean < INF)
        statistics_->know(static_cast<int>(bucket), architecture_of_[group], mean);
    }
  }
  for (std::size_t bucket = 0; bucket < buckets; ++bucket)
    stale_.push_back(static_cast<int>(bucket));
}

void LearnedBuckets::find(int bucket) {
  if (statistics_->find(bucket))
    for (const int architecture : takers[bucket]) orders[architecture].push_back(bucket);
}

}  // namespace tasksim
