#include "traffic.h"

#include <algorithm>

namespace tasksim {

Traffic::Traffic(const Slowing &slowing)
    : slowing_(slowing),
      domains_(slowing.domains),
      counts_(domains_, std::vector<int>(slowing.kinds)),
      alone_(domains_, std::vector<double>(slowing.kinds, 1.0)),
      own_asked_(domains_),
      own_cores_(domains_),
      asked_(domains_),
      cores_(domains_),
      near_(domains_),
      crossing_(i64{domains_} * domains_),
      excess_(i64{domains_} * domains_) {}

void Traffic::settle(const std::vector<Placed> &tasks) {
  for (auto *values : {&own_asked_, &own_cores_, &asked_, &cores_, &crossing_})
    std::fill(values->begin(), values->end(), 0.0);
  for (auto &row : counts_) std::fill(row.begin(), row.end(), 0);
  for (const Placed &task : tasks) {
    const double demand = slowing_.demand()[task.kind];
    ++counts_[task.domain][task.kind];
    own_asked_[task.domain] += demand;
    own_cores_[task.domain] += 1.0;
    for (int home = 0; home < domains_; ++home) {
      const double share = task.shares[home];
      asked_[home] += demand * share;
      cores_[home] += share;
      crossing_[task.domain * domains_ + home] += demand * share;
    }
  }
  const Distances &distances = slowing_.distances;
  for (int one = 0; one < domains_; ++one) {
    slowing_.stretch(one, counts_[one], alone_[one]);
    near_[one] = load(one, own_asked_[one], own_cores_[one]) - 1.0;
    for (int other = 0; other < domains_; ++other) {
      const int pair = one * domains_ + other;
      const double busy = load(other, asked_[other], cores_[other]);
      const double way = crossing_[pair] / distances.limit[pair];
      excess_[pair] = std::max(std::max(distances.ratio[pair], busy), way) - 1.0;
    }
  }
  stretches.clear();
  local.clear();
  for (const Placed &task : tasks) {
    double far = 0.0;
    for (int home = 0; home < domains_; ++home)
      if (task.shares[home] != 0.0)
        far += task.shares[home] * excess_[task.domain * domains_ + home];
    const double alone = alone_[task.domain][task.kind];
    const double stretch = alone + slowing_.share()[task.kind] * (far - near_[task.domain]);
    stretches.push_back(std::max(1.0, stretch));
    local.push_back(alone);
  }
}

// What is asked of a memory by so many cores over what it gives; at least 1.
double Traffic::load(int domain, double asked, double cores) const {
  const auto curve = slowing_.curve_of(domain);
  if (curve.empty()) return 1.0;
  const auto whole = std::max(static_cast<i64>(cores + 0.5), i64{1});
  const i64 place = std::min(whole, static_cast<i64>(curve.size())) - 1;
  return std::max(1.0, asked / curve[place]);
}

}  // namespace tasksim
