#include "pace.h"

#include <algorithm>
#include <cmath>

namespace tasksim {

namespace {

constexpr double LAST = INF;       // the rank of what happens at the end of an instant
constexpr double ROUNDING = 1e-6;  // of a tick: else a task that ends on one would end one later

}  // namespace

Pace::Pace(Clock &clock, const tasksim_contention &given, const Graph &graph,
           const Platform &platform)
    : clock_(clock),
      slowing_(given, graph, platform),
      graph_(graph),
      platform_(platform),
      settling_(*this),
      domains_(slowing_.domains),
      running_(platform.workers),
      stretches_(slowing_.kinds, 1.0) {
  for (int number = 0; number < slowing_.domains; ++number) {
    domains_[number].pace = this;
    domains_[number].number = number;
    domains_[number].counts.assign(slowing_.kinds, 0);
  }
}

bool Pace::begin(int task, int worker, i64 work, Routine &routine) {
  if (slowing_.domain_of[worker] < 0 || !work) return false;
  Domain &domain = domains_[slowing_.domain_of[worker]];
  const i64 group = platform_.class_of[worker];
  const int kind = slowing_.kind_of[group * graph_.kernels + graph_.kernel[task]];
  running_[worker] = {kind, static_cast<double>(work), 0.0, clock_.now, NEVER, &routine, false};
  domain.running.push_back(worker);
  ++domain.counts[kind];
  settle_soon(domain);
  return true;
}

void Pace::settle_soon(Domain &domain) {
  if (changed_.empty()) clock_.after(0, LAST, settling_);
  if (std::exchange(domain.changed, true)) return;
  changed_.push_back(&domain);
}

void Pace::settle() {
  settled_.clear();
  settled_.swap(changed_);
  for (Domain *domain : settled_) {
    domain->changed = false;
    retime(*domain);
    set_alarm(*domain);
  }
}

// Notes what each task has done so far, and when it ends at its new pace.
void Pace::retime(Domain &domain) {
  slowing_.stretch(domain.number, domain.counts, stretches_);
  const i64 now = clock_.now;
  for (const int worker : domain.running) {
    Running &running = running_[worker];
    const double stretch = stretches_[running.kind];
    if (stretch == running.stretch) continue;
    if (running.stretch != 0.0)
      running.remaining -= static_cast<double>(now - running.since) / running.stretch;
    running.since = now;
    running.stretch = stretch;
    const double left = std::ceil(running.remaining * stretch - ROUNDING);
    if (!(left < 9e18)) throw Broken{TASKSIM_TOO_LATE};
    running.end = later(now, std::max(i64{0}, static_cast<i64>(left)));
  }
}

// Waits for the task that ends first.
void Pace::set_alarm(Domain &domain) {
  i64 first = NEVER;
  for (const int worker : domain.running) first = std::min(first, running_[worker].end);
  if (first == domain.alarm || first == NEVER) return;
  domain.alarm = first;
  clock_.keep_order();
  clock_.after(first - clock_.now, RUN, domain, first);
}

void Pace::on_alarm(Domain &domain, i64 when) {
  if (when != domain.alarm) return;
  domain.alarm = NEVER;
  ended_.clear();
  std::size_t left = 0;
  for (const int worker : domain.running) {
    Running &running = running_[worker];
    if (running.end > when) {
      domain.running[left++] = worker;
      continue;
    }
    running.over = true;
    --domain.counts[running.kind];
    ended_.push_back(running.routine);
  }
  domain.running.resize(left);
  settle_soon(domain);
  for (Routine *routine : ended_) routine->wake();
}

}  // namespace tasksim
