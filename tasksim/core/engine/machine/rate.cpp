#include "rate.h"

#include <algorithm>
#include <cmath>

namespace tasksim {

namespace {

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
      numa_(slowing_.distances ? std::make_unique<Numa>(slowing_, graph, platform.workers)
                               : nullptr),
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
    Domain &domain = domain_of(worker);
    place_[worker] = static_cast<int>(domain.end.size());
    domain.running.emplace_back();
    domain.end.push_back(NEVER);
  }
}

bool Rate::begin(int task, int worker, i64 work, Routine &routine) {
  if (slowing_.domain_of[worker] < 0) return false;
  if (numa_)  // data get a home from tasks of no length, too
    numa_->homes.touch(task, slowing_.domain_of[worker], shares_of(worker));
  if (!work) return false;
  Domain &domain = domain_of(worker);
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
  if (changed_.empty()) clock_.after(0, LAST_PHASE, settling_);
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
  if (numa_) return retime_all(domain);
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

// The same where the tasks of all domains slow each other down.
void Rate::retime_all(Domain &domain) {
  std::vector<Placed> &tasks = numa_->running;
  tasks.clear();
  for (const int place : domain.fresh) domain.end[place] = 0;  // it runs; its end comes below
  for (std::size_t place = 0; place < domain.end.size(); ++place) {
    if (domain.end[place] == NEVER) continue;
    const Running &running = domain.running[place];
    tasks.push_back({static_cast<int>(place), running.kind, slowing_.domain_of[running.worker],
                     shares_of(running.worker)});
  }
  numa_->traffic.settle(tasks);
  const i64 now = clock_.now;
  for (std::size_t number = 0; number < tasks.size(); ++number) {
    const int place = tasks[number].place;
    Running &running = domain.running[place];
    const double stretch = numa_->traffic.stretches[number];
    const double local = numa_->traffic.local[number];
    if (stretch == running.stretch && local == running.local) continue;
    if (running.stretch != 0.0) {
      running.remaining -= static_cast<double>(now - running.since) / running.stretch;
      account(running, now);
    }
    running.since = now;
    running.stretch = stretch;
    running.local = local;
    const double left = running.remaining * stretch - END_ROUNDING_TICKS;
    if (!(left < 9e18)) throw Broken{TASKSIM_TOO_LATE};
    domain.end[place] = later(now, ticks_up(left));
  }
  domain.fresh.clear();
}

void Rate::account(const Running &running, i64 now) {
  const auto elapsed = static_cast<double>(now - running.since);
  const int domain = slowing_.domain_of[running.worker];
  numa_->extra_ticks[domain] += elapsed * (running.stretch - running.local) / running.stretch;
}

void Rate::write(double *accessed_bytes, double *extra_s) const {
  if (!numa_) return;
  std::ranges::copy(numa_->homes.accessed_bytes, accessed_bytes);
  for (const double ticks : numa_->extra_ticks) *extra_s++ = ticks / 1e9;
}

// Waits for the task that ends first; if no event comes before, it has ended then.
void Rate::set_alarm(Domain &domain) {
  i64 first = NEVER;
  for (const i64 end : domain.end) first = std::min(first, end);
  if (first == domain.alarm || first == NEVER) return;
  domain.alarm = first;
  if (&domain == settled_.back() && clock_.passes(first - clock_.now, END_PHASE))
    return on_alarm(domain, first);
  clock_.keep_order();
  clock_.after(first - clock_.now, END_PHASE, domain, first);
}

void Rate::on_alarm(Domain &domain, i64 when) {
  if (when != domain.alarm) return;
  domain.alarm = NEVER;
  ended_.clear();
  for (std::size_t place = 0; place < domain.end.size(); ++place)
    if (domain.end[place] <= when) ended_.push_back(static_cast<int>(place));
  std::vector<Running> &running = domain.running;
  if (numa_)
    for (const int place : ended_) account(running[place], when);
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
