#include "network.h"

#include <algorithm>
#include <cmath>

namespace tasksim {

Network::Network(Clock &clock, const Platform &platform, Done done, void *who)
    : clock_(clock),
      given_(platform.given),
      memories_(platform.memories),
      links_(platform.links),
      path_of_(platform.path.data()),
      done_(done),
      who_(who) {}

std::size_t Network::Hash::operator()(const std::vector<int> &paths) const {
  u64 hash = 14695981039346656037u;  // FNV-1a
  for (const int path : paths) hash = (hash ^ static_cast<u64>(path)) * 1099511628211u;
  return hash;
}

bool Network::shares(int source, int target) const {
  const int path = path_of_[source * memories_ + target];
  return given_.path_ptr[path + 1] > given_.path_ptr[path];
}

void Network::send(int source, int target, i64 size, Copy &copy) {
  Flow &flow = new_flow();
  flow.path = path_of_[source * memories_ + target];
  flow.remaining = static_cast<double>(size);
  flow.rate = 0.0;
  flow.copy = &copy;
  flow.network = this;
  if (const i64 latency = given_.path_latency[flow.path])
    clock_.after(latency, END_PHASE, flow);
  else
    enter(flow);
}

Network::Flow &Network::new_flow() {
  if (free_.empty()) {
    all_.emplace_back();
    return all_.back();
  }
  Flow *flow = free_.back();
  free_.pop_back();
  return *flow;
}

void Network::enter(Flow &flow) {
  advance();
  flows_.push_back(&flow);
  settle();
}

void Network::happen(i64 settled) {
  if (settled != settled_) return;
  advance();
  // A remainder of less than a tick counts as done: SimGrid merges such events, too.
  ended_.clear();
  std::erase_if(flows_, [this](Flow *flow) {
    const bool ended = flow->remaining <= flow->rate;
    if (ended) ended_.push_back(flow);
    return ended;
  });
  settle();
  for (Flow *flow : ended_) {
    Copy &copy = *flow->copy;
    free_.push_back(flow);
    done_(who_, copy);
  }
}

void Network::advance() {
  const i64 elapsed = clock_.now - since_;
  if (!elapsed) return;
  since_ = clock_.now;
  for (Flow *flow : flows_) flow->remaining -= flow->rate * static_cast<double>(elapsed);
}

// Shares the links among the flows, and finds the one that ends first.
void Network::settle() {
  ++settled_;
  if (flows_.empty()) return;
  combination_.clear();
  for (const Flow *flow : flows_) combination_.push_back(flow->path);
  auto found = known_.find(combination_);
  std::vector<double> own;
  if (found == known_.end()) {
    own = fair_rates(combination_);
    if (known_.size() < MAX_KNOWN_COMBINATIONS) known_.emplace(combination_, own);
  }
  const std::vector<double> &rates = found == known_.end() ? own : found->second;
  double first = INF;
  for (std::size_t k = 0; k < flows_.size(); ++k) {
    flows_[k]->rate = rates[k];
    const double left = flows_[k]->remaining / rates[k];
    if (left < first) first = left;
  }
  // A millionth of a tick is rounding: without it a flow that ends on a tick would end one later.
  const double delay = std::ceil(first - 1e-6);
  if (!(delay < 9e18)) throw Broken{TASKSIM_TOO_LATE};
  clock_.after(std::max(i64{0}, static_cast<i64>(delay)), END_PHASE, *this, settled_);
}

// The level rises for all flows at once, each gets level * weight; flows on a full link keep their
// share (progressive filling).
std::vector<double> Network::fair_rates(const std::vector<int> &paths) const {
  const auto each_link = [&](int flow, auto visit) {
    for (i64 k = given_.path_ptr[paths[flow]]; k < given_.path_ptr[paths[flow] + 1]; ++k)
      visit(given_.path_link[k], given_.path_times[k]);
  };
  const auto weight = [&](int flow) { return given_.path_weight[paths[flow]]; };
  const auto limit = [&](int flow) { return given_.path_limit[paths[flow]]; };
  std::vector<double> rates(paths.size(), 0.0), left(links_, -1.0), load(links_);
  std::vector<bool> full(links_);
  std::vector<int> rising, used;
  for (int flow = 0; flow < static_cast<int>(paths.size()); ++flow) {
    rising.push_back(flow);
    each_link(flow, [&](int link, int) {
      if (left[link] < 0.0) used.push_back(link);
      left[link] = given_.capacity[link];
    });
  }
  while (!rising.empty()) {
    for (const int link : used) load[link] = 0.0;
    for (const int flow : rising)
      each_link(flow, [&](int link, int times) { load[link] += times * weight(flow); });
    double level = INF;
    for (const int link : used)
      if (load[link] != 0.0) level = std::min(level, left[link] / load[link]);
    for (const int flow : rising) level = std::min(level, limit(flow) / weight(flow));
    const double reached = level * (1 + 1e-9);  // links that fill together
    for (const int link : used) full[link] = load[link] != 0.0 && left[link] / load[link] <= reached;
    std::vector<int> stopped, going_on;
    for (const int flow : rising) {
      rates[flow] = std::max(level * weight(flow), 1e-18);  // never zero: a flow must end
      bool stops = limit(flow) <= reached * weight(flow);
      each_link(flow, [&](int link, int) { stops = stops || full[link]; });
      (stops ? stopped : going_on).push_back(flow);
    }
    if (stopped.empty()) throw Broken{TASKSIM_BUG};  // a NaN flow: nothing would end
    for (const int flow : stopped)
      each_link(flow, [&](int link, int times) {
        left[link] = std::max(0.0, left[link] - times * rates[flow]);
      });
    rising.swap(going_on);
  }
  return rates;
}

}  // namespace tasksim
