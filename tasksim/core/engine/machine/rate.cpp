#include "rate.h"

#include <algorithm>
#include <cmath>

namespace tasksim {

namespace {

constexpr double LAST_RANK = INF;       // rank of the events at the end of an instant
// Rounding of an end in ticks: else a task that ends on a tick would end one later.
constexpr double END_ROUNDING_TICKS = 1e-6;

// The next whole number, at least 0, without a library call for each task.
i64 ticks_up(double left) {
  const i64 whole = static_cast<i64>(left);
  return std::max(i64{0}, whole + (static_cast<double>(whole) < left));
}

}  // namespace

Rate::Rate(Clock &clock, const tasksim_contention &given, const Graph &graph,
           const Platform &platform)
    : clock_(clock),
      slowing_(given, graph, platform),
      graph_(graph),
      platform_(platform),
      settling_(*this),
      domains_(slowing_.domains),
      over_(platform.workers, true),
      place_(platform.workers, -1) {
  for (int number = 0; number < slowing_.domains; ++number) {
    domains_[number].rate = this;
    domains_[number].number = number;
    domains_[number].counts.assign(slowing_.kinds, 0);
    domains_[number].stretches.assign(slowing_.kinds, 1.0);
  }
  for (int worker = 0; worker < platform.workers; ++worker) {
    if (slowing_.domain_of[worker] < 0) continue;
    Domain &domain = domains_[slowing_.domain_of[worker]];
    place_[worker] = static_cast<int>(domain.end.size());
    domain.running.emplace_back();
    domain.end.push_back(NEVER);
  }
}

bool Rate::begin(int task, int worker, i64 work, Routine &routine) {
  if (slowing_.domain_of[worker] < 0 || !work) return false;
  Domain &domain = domains_[slowing_.domain_of[worker]];
  const i64 group = platform_.class_of[worker];
  const int kind = slowing_.kind_of[group * graph_.kernels + graph_.kernel[task]];
  const auto alone = static_cast<double>(work);
  over_[worker] = false;
  domain.running[place_[worker]] = {kind, worker, alone, 0.0, clock_.now, ++begun_, &routine};
  domain.fresh.push_back(place_[worker]);
  ++domain.counts[kind];
  settle_soon(domain);
  return true;
}

void Rate::settle_soon(Domain &domain) {
  if (changed_.empty()) clock_.after(0, LAST_RANK, settling_);
  if (std::exchange(domain.changed, true)) return;
  changed_.push_back(&domain);
}

void Rate::settle() {
  settled_.clear();
  settled_.swap(changed_);
  for (Domain *domain : settled_) {
    domain->changed = false;
    retime(*domain);
    set_alarm(*domain);
  }
}

// Notes the progress of each task, and its end at its new rate.
void Rate::retime(Domain &domain) {
  if (domain.counts != domain.known_counts) {
    slowing_.stretch(domain.number, domain.counts, domain.stretches);
    domain.known_counts = domain.counts;
    for (std::size_t place = 0; place < domain.end.size(); ++place)
      if (domain.end[place] != NEVER) retime(domain, static_cast<int>(place));
  }  // else one has ended and another of its kind begins, as mostly: other rates stay
  for (const int place : domain.fresh) retime(domain, place);
  domain.fresh.clear();
}

void Rate::retime(Domain &domain, int place) {
  Running &running = domain.running[place];
  const double stretch = domain.stretches[running.kind];
  if (stretch == running.stretch) return;
  const i64 now = clock_.now;
  if (running.stretch != 0.0)
    running.remaining -= static_cast<double>(now - running.since) / running.stretch;
  running.since = now;
  running.stretch = stretch;
  const double left = running.remaining * stretch - END_ROUNDING_TICKS;
  if (!(left < 9e18)) throw Broken{TASKSIM_TOO_LATE};
  domain.end[place] = later(now, ticks_up(left));
}

// Waits for the task that ends first; if no event comes before, it has ended then.
void Rate::set_alarm(Domain &domain) {
  i64 first = NEVER;
  for (const i64 end : domain.end) first = std::min(first, end);
  if (first == domain.alarm || first == NEVER) return;
  domain.alarm = first;
  if (&domain == settled_.back() && clock_.passes(first - clock_.now, END_RANK))
    return on_alarm(domain, first);
  clock_.keep_order();
  clock_.after(first - clock_.now, END_RANK, domain, first);
}

void Rate::on_alarm(Domain &domain, i64 when) {
  if (when != domain.alarm) return;
  domain.alarm = NEVER;
  ended_.clear();
  for (std::size_t place = 0; place < domain.end.size(); ++place)
    if (domain.end[place] <= when) ended_.push_back(static_cast<int>(place));
  std::vector<Running> &running = domain.running;
  if (ended_.size() > 1)  // in the order of their starts
    std::sort(ended_.begin(), ended_.end(),
              [&](int one, int other) { return running[one].begun < running[other].begun; });
  for (const int place : ended_) {
    domain.end[place] = NEVER;
    over_[running[place].worker] = true;
    --domain.counts[running[place].kind];
  }
  settle_soon(domain);
  for (const int place : ended_)
    if (place != ended_.back()) running[place].routine->wake();
  running[ended_.back()].routine->wake_at_last();
}

}  // namespace tasksim
