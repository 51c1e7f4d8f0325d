#include "chooser.h"

#include <algorithm>
#include <cmath>

namespace tasksim {

namespace {

// Number of bursts in which a kernel's samples are taken, as in policies.py.
constexpr double BURSTS = 4.0;

template <class T>
std::span<T> array(T *first, i64 count) {
  if (count < 0 || (count && !first)) throw BadArrays{};
  return {first, static_cast<std::size_t>(count)};
}

}  // namespace

Chooser::Chooser(const tasksim_selection &given, int tasks, int workers)
    : of_task_(array(given.of_task, tasks)),
      quantiles_(array(given.quantiles, given.quantile_count)),
      profile_(array(given.profile, given.kernels)),
      measured_(*array(given.measured, 1).data()),
      measured_task_(array(given.measured_task, tasks)),
      measured_s_(array(given.measured_s, tasks)),
      kernels_(static_cast<int>(given.kernels)),
      workers_(workers),
      kind_(static_cast<tasksim_counts>(given.counts)),
      spread_(given.spread),
      draws_(given.draws),
      twister_(array(given.twister, Twister::WORDS + 1).data()),
      least_(given.least),
      tolerance_(given.tolerance),
      known_(kernels_),
      met_by_(static_cast<std::size_t>(kernels_) * workers) {
  const auto told = array(given.told_s, given.kernels);
  const auto pointer = array(given.sample_ptr, given.kernels + 1);
  if (quantiles_.empty() || pointer.front() != 0) throw BadArrays{};
  for (const int place : of_task_) {
    if (place < 0 || place >= kernels_) throw BadArrays{};
    ++known_[place].occurs;
  }
  for (int place = 0; place < kernels_; ++place) {
    Known &known = known_[place];
    if (pointer[place + 1] < pointer[place]) throw BadArrays{};
    const auto samples = array(given.sample_s, pointer[place + 1]);
    for (i64 k = pointer[place]; k < pointer[place + 1]; ++k) add(known, samples[k]);
    known.before = known.count;
    look(known);
    if (known.needed > known.count && told[place] > 0) {
      known.needed = 0.0;
      known.charged = told[place];
      known.told = true;
    }
    work_ += static_cast<double>(known.occurs) * known.charged;
  }
}

std::optional<double> Chooser::charge(int task, int worker, const PathRecord &before, double now) {
  const int place = of_task_[task];
  Known &known = known_[place];
  ++known.met;
  ++met_by_[i64{worker} * kernels_ + place];
  if (!wants(known, known.needed / times(place, worker, before, now))) return draw(known);
  ++known.begun;
  return std::nullopt;
}

double Chooser::draw(Known &known) {
  if (!draws_ || known.told) return known.charged;
  auto &deck = known.deck;
  if (deck.empty()) {
    deck = known.samples;
    for (std::size_t last = deck.size() - 1; last > 0; --last)
      std::swap(deck[last], deck[std::uint64_t{twister_.word()} * (last + 1) >> 32]);
    const double count = static_cast<double>(deck.size());
    known.stretch = std::sqrt(count / (count - 1.0));
  }
  const double sample = deck.back();
  deck.pop_back();
  return std::max(0.0, known.charged + (sample - known.charged) * known.stretch);
}

bool Chooser::wants(const Known &known, double needed) const {
  if (!spread_ || needed == INF)
    return known.begun < least_ || needed > static_cast<double>(known.count);
  const double missing =
      std::max(needed - static_cast<double>(known.before), static_cast<double>(least_));
  const double met = std::min(1.0, static_cast<double>(known.met) / static_cast<double>(known.occurs));
  const double due = std::min(BURSTS, std::floor(met * BURSTS - 0.5) + 1.0) / BURSTS;
  return static_cast<double>(known.begun) < missing * due;
}

double Chooser::times(int place, int worker, const PathRecord &before, double now) {
  switch (kind_) {
    case TASKSIM_COUNTS_OWN:
      return std::max(1.0, static_cast<double>(met_by_[i64{worker} * kernels_ + place]));
    case TASKSIM_COUNTS_PATH:
      return static_cast<double>(before.counts[place] + 1);
    case TASKSIM_COUNTS_PROFILE:
      return std::max(1.0, static_cast<double>(profile_[place]));
    case TASKSIM_COUNTS_SHARE: {
      const double share = this->share(place, before, now);
      return share > 0.0 ? 1.0 / (share * share * kernels_) : 1.0;
    }
    default:
      return 1.0;
  }
}

// The kernel's share of the makespan: of all work, or of the path so far.
double Chooser::share(int place, const PathRecord &before, double now) const {
  if (work_ <= 0.0) return 0.0;
  const Known &known = known_[place];
  const double of_work = static_cast<double>(known.occurs) * known.charged / work_;
  const double on_path = static_cast<double>(before.counts[place] + 1) * known.charged;
  return std::max(of_work, on_path / std::max(now, work_ / workers_));
}

void Chooser::measured(int task, double seconds) {
  const int place = of_task_[task];
  Known &known = known_[place];
  const double charged = known.charged;
  add(known, seconds);
  measured_task_[measured_] = task;
  measured_s_[measured_++] = seconds;
  look(known);
  work_ += static_cast<double>(known.occurs) * (known.charged - charged);
}

// Welford's recurrence.
void Chooser::add(Known &known, double seconds) {
  ++known.count;
  const double shift = seconds - known.mean;
  known.mean += shift / static_cast<double>(known.count);
  known.squares += shift * (seconds - known.mean);
  known.samples.push_back(seconds);
}

void Chooser::look(Known &known) {
  if (known.told || known.count < 2 || tolerance_ <= 0) return;
  const i64 degrees = std::min(known.count - 1, static_cast<i64>(quantiles_.size()) - 1);
  const double count = static_cast<double>(known.count);
  const double deviation = std::sqrt(known.squares / (count - 1.0));
  const double error = quantiles_[degrees] * deviation / std::sqrt(count);
  const double width = known.mean > 0 ? error / known.mean : error > 0 ? INF : 0.0;
  if (width == INF) return;
  known.needed = count * (width / tolerance_) * (width / tolerance_);
  known.charged = known.mean;
}

}  // namespace tasksim
