// numa-lws: work stealing from the thief's memory domain first, near the data
// (schedulers/numa_lws.py).
#include <algorithm>

#include "ws.h"

namespace tasksim {

namespace {

constexpr i64 NO_DOMAIN = -1;

class NumaWorkStealing : public WorkStealing {
 public:
  explicit NumaWorkStealing(const Options &options)
      : domain_of_(options.table("domain_of")),
        first_(options.table("access_ptr")),
        handles_(options.table("access_handle")),
        sizes_(options.table("size_bytes")),
        touches_(options.table("touches")[0] != 0) {
    const auto home = options.table("home");
    home_.assign(home.begin(), home.end());
    const auto last = std::ranges::max_element(domain_of_);
    held_.resize(last == domain_of_.end() ? 0 : static_cast<std::size_t>(*last + 1));
  }

  int owner_of(int task) override {
    const int owner = WorkStealing::owner_of(task);
    std::ranges::fill(held_, 0);
    for (i64 k = first_[task]; k < first_[task + 1]; ++k)
      if (const i64 home = home_[handles_[k]]; home != NO_DOMAIN) held_[home] += sizes_[handles_[k]];
    const auto most = std::ranges::max_element(held_);
    const i64 own = domain_of_[owner];
    if (most == held_.end() || *most == 0 || (own != NO_DOMAIN && held_[own] == *most)) return owner;
    int found = NONE;
    for (int worker = 0; worker < view->workers(); ++worker)
      if (domain_of_[worker] == most - held_.begin() && view->can_run(task, worker) &&
          (found == NONE || waiting(worker) < waiting(found)))
        found = worker;
    return found == NONE ? owner : found;
  }

  void started(int task, int worker) override {
    const i64 domain = domain_of_[worker];
    if (!touches_ || domain == NO_DOMAIN) return;
    for (i64 k = first_[task]; k < first_[task + 1]; ++k)
      if (i64 &home = home_[handles_[k]]; home == NO_DOMAIN) home = domain;
  }

 protected:
  int stolen(int thief) override {
    int task = NONE;
    for (const bool is_near : {true, false})
      if (victims_->from_nearest(thief, [&](int victim) {
            const bool near = domain_of_[victim] == domain_of_[thief];
            return near == is_near && (task = rob(victim, thief)) != NONE;
          }))
        break;
    return task;
  }

 private:
  std::span<const i64> domain_of_;  // per worker
  std::span<const i64> first_, handles_;  // the data of each task
  std::span<const i64> sizes_;  // per datum
  bool touches_;  // whether the first task on a datum makes its home
  std::vector<i64> home_;  // per datum
  std::vector<i64> held_;  // per domain, bytes of the data of the task at hand
};

const Register numa_lws("numa-lws", [](const Options &options) {
  return std::make_unique<NumaWorkStealing>(options);
});

}  // namespace

}  // namespace tasksim
