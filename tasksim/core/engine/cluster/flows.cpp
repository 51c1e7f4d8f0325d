#include "flows.h"

#include <algorithm>

namespace tasksim::cluster {

namespace {

// The ticks until *bytes* have moved, *rate* in each.
i64 ticks_to_move(double bytes, double rate) {
  const double left = bytes / rate - END_ROUNDING_TICKS;
  if (!(left < 9e18)) throw Broken{TASKSIM_TOO_LATE};
  if (left <= 0.0) return 0;
  const i64 whole = static_cast<i64>(left);
  return whole + (static_cast<double>(whole) < left);
}

}  // namespace

i64 Transfer::alone() const {
  return later(latency, ticks_to_move(bytes, way->limit * factor));
}

Flows::Flows(Clock &clock, std::span<const double> capacity)
    : clock_(clock), settling_(*this), links_(capacity.size()), region_(links_) {
  for (std::size_t k = 0; k < capacity.size(); ++k) links_[k].capacity = capacity[k];
}

void Flow::happen(i64) { flows->enter(*this); }

void Flow::soon(i64, int turns) const {
  if (turns == 3) {
    __builtin_prefetch(reinterpret_cast<const char *>(this) + 64, 1);
    __builtin_prefetch(way);
  }
  if (turns == 2) __builtin_prefetch(way->uses.data());
  if (turns == 1) flows->send_for_links(*this);
}

void Flows::send_for_links(const Flow &flow) const {
  for (const Use &use : flow.way->uses) __builtin_prefetch(&links_[use.link], 1);
}

void Flows::soon(i64 tick, int turns) const {
  if (turns < 2 && tick == alarm_) send_for_end(ends_.first_flow(), turns);
}

// Prefetches, like soon(), for the end of *flow*.
void Flows::send_for_end(const Flow &flow, int turns) const {
  if (turns == 2) __builtin_prefetch(flow.way);
  if (turns == 1) __builtin_prefetch(flow.way->uses.data());
  if (turns == 0) send_for_links(flow);
  flow.who->soon(flow.value, turns + 1);
}

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
    clock_.after(transfer.latency, END_PHASE, flow);
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
  for (const Use &use : flow.way->uses) {
    note_change(use.link);
    Link &link = links_[use.link];
    link.on.erase(std::find_if(link.on.begin(), link.on.end(),
                               [&](const Link::Taken &taken) { return taken.flow == &flow; }));
    link.demand = link.on.empty() ? 0.0 : link.demand - use.of_byte * flow.way->limit;
  }
}

void Flows::happen(i64 tick) {
  if (tick != alarm_) return;
  alarm_ = -1;
  ended_.clear();
  while (!ends_.empty() && ends_.first() <= clock_.now) ended_.push_back(&ends_.pop());
  std::sort(ended_.begin(), ended_.end(),
            [](const Flow *one, const Flow *other) { return one->number < other->number; });
  for (Flow *flow : ended_) leave(*flow);
  settle_soon();
  for (Flow *flow : ended_) {
    free_.push_back(flow);
    flow->who->happen(flow->value);
  }
}

void Flows::settle_soon() {
  if (soon_) return;
  soon_ = true;
  clock_.after(0, LAST_PHASE, settling_);
}

void Flows::settle() {
  soon_ = false;
  find_touched();
  for (Flow *flow : region_.settle()) {
    if (flow->settled == flow->share) continue;
    flow->remaining -= flow->share * flow->factor * static_cast<double>(clock_.now - flow->since);
    flow->since = clock_.now;
    flow->share = flow->settled;
    flow->level = flow->share / flow->way->weight;
    ends_.set(*flow, end_of(*flow));
  }
  region_.clear();
  set_alarm();
}

// The flows that have begun, and those beside which flows have begun or ended.
void Flows::find_touched() {
  for (Flow *flow : begun_) region_.add(*flow);
  for (const int number : changed_) {
    Link &link = links_[number];
    link.changed = false;
    if (!link.was_full() && !link.can_be_full()) continue;  // it limits no flow
    for (const auto &taken : link.on) __builtin_prefetch(taken.flow, 1);
    for (const auto &taken : link.on) region_.add(*taken.flow);
  }
  begun_.clear();
  changed_.clear();
}

i64 Flows::end_of(const Flow &flow) const {
  return later(flow.since, ticks_to_move(flow.remaining, flow.share * flow.factor));
}

// Waits for the flow that ends first.
void Flows::set_alarm() {
  if (ends_.empty() || ends_.first() == alarm_) return;
  alarm_ = ends_.first();
  clock_.after(alarm_ - clock_.now, END_PHASE, *this, alarm_);
  send_for_end(ends_.first_flow(), 2);
  ends_.send_for_next();
}

}  // namespace tasksim::cluster
