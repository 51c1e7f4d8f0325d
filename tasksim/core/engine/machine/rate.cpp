#include "rate.h"

#include <algorithm>
#include <cmath>

namespace tasksim {

namespace {

constexpr double LAST = INF;       // the rank of what happens at the end of an instant
constexpr double ROUNDING = 1e-6;  // of a tick: else a task that ends on one would end one later

// The next whole number, at least 0, without a call of the library for each task.
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
      over_(platform.workers, true) {
  for (int number = 0; number < slowing_.domains; ++number) {
    domains_[number].rate = this;
    domains_[number].number = number;
    domains_[number].counts.assign(slowing_.kinds, 0);
    domains_[number].stretches.assign(slowing_.kinds, 1.0);
  }
}

bool Rate::begin(int task, int worker, i64 work, Routine &routine) {
  if (slowing_.domain_of[worker] < 0 || !work) return false;
  Domain &domain = domains_[slowing_.domain_of[worker]];
  const i64 group = platform_.class_of[worker];
  const int kind = slowing_.kind_of[group * graph_.kernels + graph_.kernel[task]];
  const auto alone = static_cast<double>(work);
  over_[worker] = false;
  domain.running.push_back({kind, worker, alone, 0.0, clock_.now, NEVER, &routine});
  ++domain.counts[kind];
  settle_soon(domain);
  return true;
}

void Rate::settle_soon(Domain &domain) {
  if (changed_.empty()) clock_.after(0, LAST, settling_);
  if (std::exchange(domain.changed, true)) return;
  changed_.push_back(&domain);
}

void Rate::settle() {
  settled_.clear();
  settled_.swap(changed_);
  for (Domain *domain : settled_) {
    domain->changed = false;
    set_alarm(*domain, retime(*domain));
  }
}

// Notes what each task has done so far, and when it ends at its new rate; returns when the first
// one ends.
i64 Rate::retime(Domain &domain) {
  if (domain.counts != domain.known_counts) {  // mostly one ends and another of its kind begins
    slowing_.stretch(domain.number, domain.counts, domain.stretches);
    domain.known_counts = domain.counts;
  }
  const i64 now = clock_.now;
  i64 first = NEVER;
  for (Running &running : domain.running) {
    const double stretch = domain.stretches[running.kind];
    if (stretch != running.stretch) {
      if (running.stretch != 0.0)
        running.remaining -= static_cast<double>(now - running.since) / running.stretch;
      running.since = now;
      running.stretch = stretch;
      const double left = running.remaining * stretch - ROUNDING;
      if (!(left < 9e18)) throw Broken{TASKSIM_TOO_LATE};
      running.end = later(now, ticks_up(left));
    }
    first = std::min(first, running.end);
  }
  return first;
}

// Waits for the task that ends *first*.
void Rate::set_alarm(Domain &domain, i64 first) {
  if (first == domain.alarm || first == NEVER) return;
  domain.alarm = first;
  clock_.keep_order();
  clock_.after(first - clock_.now, RUN, domain, first);
}

void Rate::on_alarm(Domain &domain, i64 when) {
  if (when != domain.alarm) return;
  domain.alarm = NEVER;
  ended_.clear();
  std::size_t left = 0;
  for (std::size_t place = 0; place < domain.running.size(); ++place) {
    const Running &running = domain.running[place];
    if (running.end > when) {
      if (left != place) domain.running[left] = running;
      ++left;
      continue;
    }
    over_[running.worker] = true;
    --domain.counts[running.kind];
    ended_.push_back(running.routine);
  }
  domain.running.erase(domain.running.begin() + static_cast<std::ptrdiff_t>(left),
                       domain.running.end());
  settle_soon(domain);
  for (Routine *routine : ended_) routine->wake();
}

}  // namespace tasksim
