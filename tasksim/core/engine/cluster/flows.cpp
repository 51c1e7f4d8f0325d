#include "flows.h"

#include <algorithm>
#include <cmath>

namespace tasksim::cluster {

namespace {

constexpr double LAST = INF;        // the rank of what happens at the end of an instant
constexpr double ROUNDING = 1e-6;   // of a tick: else a flow that ends on one would end one later
constexpr double SLACK = 1 + 1e-12; // sums are rounded

}  // namespace

Flows::Flows(Clock &clock, std::span<const double> capacity)
    : clock_(clock),
      capacity_(capacity),
      settling_(*this),
      links_(capacity.size()),
      region_(capacity, links_) {}

void Flow::happen(i64) { flows->enter(*this); }

void Flows::send(const Transfer &transfer, Awaiting &who, i64 value) {
  Flow &flow = new_flow();
  flow = {};
  flow.flows = this;
  flow.way = transfer.way;
  flow.factor = transfer.factor;
  flow.remaining = transfer.bytes;
  flow.who = &who;
  flow.value = value;
  if (transfer.latency)
    clock_.after(transfer.latency, RUN, flow);
  else
    enter(flow);
}

Flow &Flows::new_flow() {
  if (free_.empty()) return all_.emplace_back();
  Flow *flow = free_.back();
  free_.pop_back();
  return *flow;
}

void Flows::note_change(int number) {
  Link &link = links_[number];
  if (link.changed) return;
  link.changed = true;
  link.before = link.demand;
  changed_.push_back(number);
}

void Flows::enter(Flow &flow) {
  flow.number = ++count_;
  flow.since = clock_.now;
  for (const Use &use : flow.way->uses) {
    note_change(use.link);
    Link &link = links_[use.link];
    link.on.push_back({&flow, use.of_byte});
    link.demand += use.of_byte * flow.way->limit;
  }
  begun_.push_back(&flow);
  settle_soon();
}

void Flows::leave(Flow &flow) {
  flow.number = 0;
  for (const Use &use : flow.way->uses) {
    note_change(use.link);
    Link &link = links_[use.link];
    std::erase_if(link.on, [&](const Link::Taken &taken) { return taken.flow == &flow; });
    link.demand = link.on.empty() ? 0.0 : link.demand - use.of_byte * flow.way->limit;
  }
}

void Flows::happen(i64 tick) {
  if (tick != alarm_) return;
  alarm_ = -1;
  std::vector<End> ended;
  while (!ends_.empty() && ends_.first().tick <= clock_.now) {
    const End end = ends_.pop();
    if (stands(end) && (ended.empty() || ended.back().number != end.number)) ended.push_back(end);
  }
  std::sort(ended.begin(), ended.end(),
            [](const End &one, const End &other) { return one.number < other.number; });
  for (const End &end : ended) leave(*end.flow);
  settle_soon();
  for (const End &end : ended) {
    Awaiting &who = *end.flow->who;
    const i64 value = end.flow->value;
    free_.push_back(end.flow);
    who.happen(value);
  }
}

// Whether a flow still ends when it was said to.
bool Flows::stands(const End &end) const {
  return end.flow->number == end.number && end_of(*end.flow) == end.tick;
}

void Flows::settle_soon() {
  if (soon_) return;
  soon_ = true;
  clock_.after(0, LAST, settling_);
}

void Flows::settle() {
  soon_ = false;
  find_touched();
  for (Flow *flow : region_.settle()) {
    if (flow->settled == flow->share) continue;
    flow->remaining -= flow->share * flow->factor * static_cast<double>(clock_.now - flow->since);
    flow->since = clock_.now;
    flow->share = flow->settled;
    ends_.push({end_of(*flow), flow->number, flow});
  }
  region_.clear();
  set_alarm();
}

// The flows that have begun, and those beside which flows have come or gone.
void Flows::find_touched() {
  for (Flow *flow : begun_) region_.add(*flow);
  for (const int link : changed_) {
    if (matters(link))
      for (const auto &taken : links_[link].on) region_.add(*taken.flow);
    links_[link].changed = false;
  }
  begun_.clear();
  changed_.clear();
}

// Whether a link has flows that it holds back, or held back before.
bool Flows::matters(int link) const {
  return !links_[link].on.empty() &&
         (links_[link].before > capacity_[link] * SLACK || region_.can_be_full(link));
}

i64 Flows::end_of(const Flow &flow) const {
  const double left = std::ceil(flow.remaining / (flow.share * flow.factor) - ROUNDING);
  if (!(left < 9e18)) throw Broken{TASKSIM_TOO_LATE};
  return later(flow.since, std::max(i64{0}, static_cast<i64>(left)));
}

// Waits for the flow that ends first; forgets ends that have moved.
void Flows::set_alarm() {
  while (!ends_.empty() && !stands(ends_.first())) ends_.pop();
  if (ends_.empty() || ends_.first().tick == alarm_) return;
  alarm_ = ends_.first().tick;
  clock_.after(alarm_ - clock_.now, RUN, *this, alarm_);
}

}  // namespace tasksim::cluster
