#include "expected_ends.h"

#include <algorithm>
#include <functional>
#include <tuple>

namespace tasksim {

namespace {

// schedulers/expected_ends.py explains the number; the results of both variants are the same.
constexpr std::size_t MAX_SCANNED_WORKERS = 32;

using Seconds = std::vector<double>;
using Workers = std::span<const int>;

double latest_of(Workers workers, const Seconds &start, const Seconds &length, double now) {
  double latest = -INF;
  for (const int worker : workers)
    latest = std::max(latest, std::max(start[worker], now) + length[worker]);
  return latest;
}

// A worker that is alone in its class, such as a device.
class SingleEnd : public Ends {
 public:
  SingleEnd(int worker, const Seconds &start, const Seconds &length)
      : worker_(worker), start_(start), length_(length) {}

  End earliest(double now, double /*limit*/) override {
    return {std::max(start_[worker_], now) + length_[worker_], worker_};
  }
  double latest(double now) override { return earliest(now, -INF).end; }
  double end_of(int worker, double now) const override {
    return std::max(start_[worker], now) + length_[worker];
  }

 private:
  int worker_;
  const Seconds &start_, &length_;
};

// A few workers: each query looks at all of them.
class ScannedEnds : public Ends {
 public:
  ScannedEnds(Workers workers, const Seconds &start, const Seconds &length)
      : workers_(workers), start_(start), length_(length) {}

  End earliest(double now, double limit) override {
    End first{INF, -1};
    for (const int worker : workers_) {
      const double end = std::max(start_[worker], now) + length_[worker];
      if (end <= limit) return {end, worker};
      if (end < first.end) first = {end, worker};
    }
    return first;
  }
  double latest(double now) override { return latest_of(workers_, start_, length_, now); }
  double end_of(int worker, double now) const override {
    return std::max(start_[worker], now) + length_[worker];
  }

 private:
  Workers workers_;
  const Seconds &start_, &length_;
};

// Many workers, in two lazily cleaned heaps: busy workers by expected end, which is right or, for a
// late worker, too early; and workers that should be idle, by number.
class ExpectedEnds : public Ends {
 public:
  ExpectedEnds(Workers workers, const Seconds &start, const Seconds &length)
      : workers_(workers), start_(start), length_(length), version_(start.size(), 0) {
    for (const int worker : workers) changed(worker);
  }

  void changed(int worker) override {
    push(ends_, {start_[worker] + length_[worker], worker, ++version_[worker]});
  }

  End earliest(double now, double limit) override {
    settle(now);
    while (!free_.empty() && version_[free_[0].first] != free_[0].second) pop(free_);
    End first = free_.empty() ? End{INF, -1} : End{now, free_[0].first};
    if (!ends_.empty()) {
      const auto &[end, worker, version] = ends_[0];
      if (end < first.end || (end == first.end && worker < first.worker)) first = {end, worker};
    }
    if (now < limit && first.end <= limit) first = lowest_until(limit, now, first);
    return first;
  }

  double latest(double now) override { return latest_of(workers_, start_, length_, now); }
  double end_of(int worker, double now) const override {
    return std::max(start_[worker], now) + length_[worker];
  }

 private:
  using Busy = std::tuple<double, int, i64>;  // an expected end, a worker, its version
  using Free = std::pair<int, i64>;

  template <class Heap>
  static void push(Heap &heap, typename Heap::value_type entry) {
    heap.push_back(entry);
    std::push_heap(heap.begin(), heap.end(), std::greater<>{});
  }
  template <class Heap>
  static void pop(Heap &heap) {
    std::pop_heap(heap.begin(), heap.end(), std::greater<>{});
    heap.pop_back();
  }

  // The worker of lowest number among *first* and the busy ones with an end up to *limit*.
  //
  // The children of an entry end no earlier, so whole branches are skipped.
  End lowest_until(double limit, double now, End first) {
    places_.assign(1, 0);
    while (!places_.empty()) {
      const std::size_t place = places_.back();
      places_.pop_back();
      if (place >= ends_.size() || std::get<0>(ends_[place]) > limit) continue;
      places_.insert(places_.end(), {2 * place + 1, 2 * place + 2});
      const auto &[_, worker, version] = ends_[place];
      const double end = std::max(start_[worker], now) + length_[worker];
      if (version == version_[worker] && end <= limit && worker < first.worker)
        first = {end, worker};
    }
    return first;
  }

  // Makes the first busy worker valid and its end right.
  void settle(double now) {
    while (!ends_.empty()) {
      const auto [end, worker, version] = ends_[0];
      const double late = now + length_[worker];
      if (version != version_[worker]) {
        pop(ends_);
      } else if (start_[worker] >= now) {
        return;
      } else if (length_[worker] == 0.0) {
        pop(ends_);
        push(free_, {worker, version});
      } else if (end < late) {
        pop(ends_);
        push(ends_, {late, worker, version});
      } else {
        return;
      }
    }
  }

  Workers workers_;
  const Seconds &start_, &length_;
  std::vector<i64> version_;
  std::vector<Busy> ends_;
  std::vector<Free> free_;
  std::vector<std::size_t> places_;
};

}  // namespace

std::unique_ptr<Ends> expected_ends(Workers workers, const Seconds &start, const Seconds &length) {
  if (workers.size() == 1) return std::make_unique<SingleEnd>(workers[0], start, length);
  if (workers.size() <= MAX_SCANNED_WORKERS)
    return std::make_unique<ScannedEnds>(workers, start, length);
  return std::make_unique<ExpectedEnds>(workers, start, length);
}

}  // namespace tasksim
