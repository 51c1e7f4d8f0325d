#include "sharing.h"

#include <algorithm>
#include <cmath>

namespace tasksim::cluster {

Steps<> SharedCores::run(i64 ticks, Routine &routine) {
  come_to_now();
  bool over = false;
  running_.push({done_ + static_cast<double>(ticks), ++count_, &routine, &over});
  ++running_now_;
  set_rate();
  while (!over) {
    routine.woken = false;
    co_await SLEEP;
  }
}

void SharedCores::come_to_now() {
  done_ += rate_ * static_cast<double>(clock_.now - since_);
  since_ = clock_.now;
}

// Continues at the rate for the current number of tasks; waits for the first end.
void SharedCores::set_rate() {
  rate_ = running_now_ <= cores_
              ? 1.0
              : static_cast<double>(cores_) / static_cast<double>(running_now_);
  if (running_.empty()) {
    alarm_ = -1;
    return;
  }
  const double left = std::ceil((running_.first().end - done_) / rate_ - END_ROUNDING_TICKS);
  if (!(left < 9e18)) throw Broken{TASKSIM_TOO_LATE};
  const i64 end = later(clock_.now, std::max(i64{0}, static_cast<i64>(left)));
  if (end == alarm_) return;
  alarm_ = end;
  clock_.after(end - clock_.now, END_PHASE, *this, end);
}

void SharedCores::happen(i64 tick) {
  if (tick != alarm_) return;
  alarm_ = -1;
  come_to_now();
  std::vector<Routine *> ended;
  while (!running_.empty() && running_.first().end - done_ <= END_ROUNDING_TICKS) {
    const Running first = running_.pop();
    *first.over = true;
    --running_now_;
    ended.push_back(first.routine);
  }
  set_rate();
  for (Routine *routine : ended) routine->wake();
}

}  // namespace tasksim::cluster
