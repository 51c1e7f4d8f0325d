#include "slowing.h"

#include <algorithm>
#include <cmath>

namespace tasksim {

namespace {

constexpr i64 MAX_KINDS = 1 << 12;  // kernels times architectures; their pairs fit in memory
constexpr i64 MAX_DOMAINS = 1 << 20;
constexpr i64 MAX_NUMA_DOMAINS = 1 << 10;  // their pairs fit in memory

template <class T>
std::span<const T> array(const T *given, i64 length) {
  expect(given || !length);
  return {given, static_cast<std::size_t>(length)};
}

std::span<const i64> pointer(const i64 *given, i64 rows) {
  const auto found = array(given, rows + 1);
  expect(found[0] == 0 && std::is_sorted(found.begin(), found.end()));
  return found;
}

void expect_numbers(std::span<const double> values, double least, double most) {
  for (const double value : values) expect(value >= least && value <= most);
}

void expect_within(std::span<const std::int32_t> values, i64 least, i64 end) {
  for (const std::int32_t value : values) expect(value >= least && value < end);
}

constexpr double MAX_VALUE = std::numeric_limits<double>::max();

Distances distances_in(const tasksim_contention &given) {
  if (!given.numa) return {};
  expect(given.domains > 0 && given.domains <= MAX_NUMA_DOMAINS);
  const i64 pairs = given.domains * given.domains;
  Distances found{given.placement, given.cache_bytes, array(given.ratio, pairs),
                  array(given.limit, pairs), array(given.room, given.domains)};
  expect(found.placement >= Distances::OVER_ALL && found.placement < given.domains);
  expect(found.cache_bytes >= 0.0 && found.cache_bytes <= MAX_VALUE);
  expect_numbers(found.ratio, 1.0, MAX_VALUE);
  expect_numbers(found.limit, std::numeric_limits<double>::min(), INF);
  expect_numbers(found.room, 0.0, INF);
  return found;
}

}  // namespace

Slowing::Slowing(const tasksim_contention &given, const Graph &graph, const Platform &platform) {
  expect(given.domains >= 0 && given.domains <= MAX_DOMAINS);
  expect(given.kinds >= 0 && given.kinds <= MAX_KINDS);
  domains = static_cast<int>(given.domains);
  kinds = static_cast<int>(given.kinds);
  domain_of = array(given.domain_of, platform.workers);
  expect_within(domain_of, -1, domains);
  kind_of = array(given.kind_of, i64{platform.classes} * graph.kernels);
  expect_within(kind_of, 0, kinds);
  curve_ptr_ = pointer(given.curve_ptr, domains);
  curve_ = array(given.curve, curve_ptr_.back());
  expect_numbers(curve_, std::numeric_limits<double>::min(), MAX_VALUE);
  demand_ = array(given.demand, kinds);
  expect_numbers(demand_, 0.0, MAX_VALUE);
  share_ = array(given.share, kinds);
  expect_numbers(share_, 0.0, 1.0);
  beside_ptr_ = pointer(given.beside_ptr, i64{kinds} * kinds);
  beside_ = array(given.beside, beside_ptr_.back());
  expect_numbers(beside_, 1.0, MAX_VALUE);
  distances = distances_in(given);
}

void Slowing::stretch(int domain, const std::vector<int> &counts,
                      std::vector<double> &stretches) const {
  double busy = 0.0, asked = 0.0;
  for (int kind = 0; kind < kinds; ++kind) {
    if (!counts[kind]) continue;
    busy += counts[kind];
    asked += counts[kind] * demand_[kind];
  }
  const Curve curve = curve_of(domain);
  for (int kind = 0; kind < kinds; ++kind)
    if (counts[kind])
      stretches[kind] = busy <= 1.0 ? 1.0 : stretch_of(kind, counts, asked, busy, curve);
}

double Slowing::stretch_of(int kind, const std::vector<int> &counts, double asked, double busy,
                           Curve curve) const {
  const double memory = by_memory(kind, asked, busy, curve);
  double total = 0.0;
  for (int other = 0; other < kinds; ++other) {
    const double there = counts[other] - (other == kind);
    if (there > 0.0) total += there * beside(kind, other, busy - 1.0, memory, curve);
  }
  return std::max(1.0, total / (busy - 1.0));
}

double Slowing::beside(int kind, int other, double neighbours, double by_memory,
                       Curve curve) const {
  const i64 pair = i64{kind} * kinds + other, first = beside_ptr_[pair];
  const double most = static_cast<double>(beside_ptr_[pair + 1] - first);
  if (neighbours <= most) return beside_[first + static_cast<i64>(neighbours + 0.5) - 1];
  if (most == 0.0) return by_memory;
  const double asked = demand_[kind] + most * demand_[other];
  const double there = this->by_memory(kind, asked, most + 1.0, curve);
  return beside_[beside_ptr_[pair + 1] - 1] + (by_memory - there);
}

double Slowing::by_memory(int kind, double asked, double busy, Curve curve) const {
  if (curve.empty()) return 1.0;
  const double share = share_[kind];
  const std::size_t cores = std::min(static_cast<std::size_t>(busy + 0.5), curve.size());
  return (1.0 - share) + share * std::max(1.0, asked / curve[cores - 1]);
}

}  // namespace tasksim
