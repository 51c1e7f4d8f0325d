#include "heteroprio_statistics.h"

#include <algorithm>

namespace tasksim {

namespace {

// schedulers/heteroprio_statistics.py explains these numbers.
constexpr int MAX_AVERAGED_SAMPLES = 256;
constexpr int MIN_SAMPLES = 16;
constexpr double UNMEASURED_BONUS = 99999999.0;
constexpr double DEFAULT_DURATION_S = 1e-3;
constexpr double DEFAULT_RELEASED_TIME = 1000.0;
constexpr double MISSING_ARCHITECTURE_TIME = 999999999999999.0;

}  // namespace

Statistics::Statistics(std::vector<std::vector<int>> able, int architectures)
    : able_(std::move(able)), architectures_(architectures) {
  const std::size_t buckets = able_.size();
  known_.assign(buckets, false);
  time_.assign(buckets, std::vector<double>(architectures, DEFAULT_DURATION_S));
  timed_.assign(buckets, std::vector<int>(architectures, 0));
  best_.assign(buckets, DEFAULT_DURATION_S);
  share_.assign(buckets, 0.0);
  shared_.assign(buckets, 0);
  place_.assign(buckets, std::vector<double>(architectures, 0.0));
  placed_.assign(buckets, 0);
  released_.assign(buckets, std::vector<double>(architectures, 0.0));
  releases_.assign(buckets, 0);
}

bool Statistics::find(int bucket) {
  if (known_[bucket]) return false;
  known_[bucket] = true;
  found_.push_back(bucket);
  return true;
}

void Statistics::know(int bucket, int architecture, double duration) {
  time_[bucket][architecture] = duration;
  timed_[bucket][architecture] = MIN_SAMPLES;
  best_[bucket] = best_time(bucket);
}

void Statistics::pushed(int bucket, const Released &released) {
  submit(bucket);
  const int count = releases_[bucket] = std::min(MAX_AVERAGED_SAMPLES, releases_[bucket] + 1);
  const double unit = this->unit();
  for (int architecture = 0; architecture < architectures_; ++architecture) {
    double value = 0.0;
    for (const auto &[after, weight] : released)
      value += weight * place_[after][architecture] * time_[after][architecture];
    double &average = released_[bucket][architecture];
    average += (value / unit - average) / count;
  }
}

void Statistics::executed(int bucket, int architecture, double duration) {
  const int placed = placed_[bucket] = std::min(MAX_AVERAGED_SAMPLES, placed_[bucket] + 1);
  auto &place = place_[bucket];
  place[architecture] += 1.0 / std::max(1, placed - 1);
  double total = 0.0;
  for (const double part : place) total += part;
  for (double &part : place) part /= total;
  const int timed = timed_[bucket][architecture] =
      std::min(MAX_AVERAGED_SAMPLES, timed_[bucket][architecture] + 1);
  double &time = time_[bucket][architecture];
  const double mean = timed > 1 ? time : 0.0;
  time = mean * (timed - 1) / timed + duration / timed;
  best_[bucket] = best_time(bucket);
}

Statistics::Slowness Statistics::slowness(int bucket) const {
  const auto &time = time_[bucket];
  const double best = best_[bucket];
  Slowness found{able_[bucket].front(), {}};
  for (const int architecture : able_[bucket])
    if (time[architecture] == best) {
      found.fastest = architecture;
      break;
    }
  for (const double duration : time) found.times.push_back(best > 0.0 ? duration / best : 1.0);
  return found;
}

std::vector<Statistics::Buckets> Statistics::orders() const {
  std::vector<std::vector<std::pair<double, int>>> scores(architectures_);
  const double unit = this->unit();
  for (const int bucket : found_)
    for (const int architecture : able_[bucket])
      scores[architecture].push_back({score(bucket, architecture, unit), bucket});
  std::vector<Buckets> orders(architectures_);
  for (int architecture = 0; architecture < architectures_; ++architecture) {
    auto &scored = scores[architecture];
    std::ranges::stable_sort(scored, std::ranges::greater{}, &std::pair<double, int>::first);
    for (const auto &[_, bucket] : scored) orders[architecture].push_back(bucket);
  }
  return orders;
}

// (1 + URT)·(time elsewhere − time here). URT, the upward released time, counts the tasks that the
// end of a task makes ready here, plus those made ready elsewhere times the share of tasks that do
// not run there. Elsewhere is the slowest architecture; for that one, the second slowest.
double Statistics::score(int bucket, int own, double unit) const {
  std::vector<std::pair<double, int>> times;
  for (const int architecture : able_[bucket])
    times.push_back({time_[bucket][architecture] / unit, architecture});
  std::ranges::stable_sort(times, std::ranges::greater{}, &std::pair<double, int>::first);
  const std::size_t other = times[0].second == own ? 1 : 0;
  double released = urt(bucket, own), elsewhere = MISSING_ARCHITECTURE_TIME;
  if (other < times.size()) {
    const int there = times[other].second;
    released += urt(bucket, there) * (1.0 - place_[bucket][there]);
    elsewhere = times[other].first;
  }
  const double score = (1.0 + released) * (elsewhere - time_[bucket][own] / unit);
  return timed_[bucket][own] < MIN_SAMPLES ? score + UNMEASURED_BONUS : score;
}

double Statistics::urt(int bucket, int architecture) const {
  return releases_[bucket] ? released_[bucket][architecture] : DEFAULT_RELEASED_TIME;
}

double Statistics::best_time(int bucket) const {
  double best = INF;
  for (const int architecture : able_[bucket])
    best = std::min(best, time_[bucket][architecture]);
  return best;
}

// The mean duration of a task on its best architecture.
double Statistics::unit() const {
  double unit = 0.0;
  for (const int bucket : found_) unit += share_[bucket] * best_[bucket];
  return unit > 0.0 ? unit : 1.0;
}

void Statistics::submit(int bucket) {
  if (shared_[bucket] < MAX_AVERAGED_SAMPLES) {
    ++shared_[bucket];
    ++total_;
  }
  share_[bucket] += 1.0 / static_cast<double>(total_);
  double total = 0.0;
  for (const int found : found_) total += share_[found];
  for (const int found : found_) share_[found] /= total;
}

}  // namespace tasksim
