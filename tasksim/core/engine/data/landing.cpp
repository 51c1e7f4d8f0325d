#include "landing.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace tasksim {

namespace {

constexpr double PIN_UNIT_BYTES = 1 << 20;  // bytes that pin_s is the duration for

}  // namespace

Landing::Landing(const Clock &clock, const tasksim_platform &platform,
                 std::vector<Routine *> workers, i64 at_once)
    : clock_(clock),
      pin_s_(platform.pin_s),
      largest_(platform.largest_bytes),
      chunk_(platform.chunk_bytes),
      workers_(std::move(workers)),
      at_once_(at_once),
      pool_(std::numeric_limits<double>::infinity(), platform) {}

bool Landing::ask(i64 size, i64 priority, Awaiting &who, i64 value) {
  if (take_kept(size)) return true;
  queue_.push({-priority, turn_++, size, value, &who});
  ++open;
  wake();
  return false;
}

void Landing::wake() {
  for (Routine *each : workers_)
    if (each->asleep) each->wake();
}

Steps<> Landing::serve() {
  const std::vector<Asked> taken = take();
  const i64 begun = clock_.now;
  std::size_t place = 0;
  while (place < taken.size() && clock_.now < later(begun, MAX_PIN_TURN_TICKS)) {
    const Asked asked = taken[place++];
    if (!take_kept(asked.size)) {
      const i64 now = clock_.now;
      pinned_by_ = later(std::max(now, pinned_by_), allocate(asked.size));
      if (pinned_by_ > now) co_await Wait{pinned_by_ - now};
    }
    --open;
    asked.who->happen(asked.value);
  }
  if (place == taken.size()) co_return;
  for (; place < taken.size(); ++place) queue_.push(taken[place]);
  wake();
}

std::vector<Landing::Asked> Landing::take() {
  std::vector<Asked> taken;
  while (!queue_.empty() && std::ssize(taken) < at_once_) taken.push_back(queue_.pop());
  return taken;
}

void Landing::put_back(std::span<const Asked> asked) {
  for (auto each = asked.rbegin(); each != asked.rend(); ++each) {
    Asked waits = *each;
    waits.turn = --first_;
    queue_.push(waits);
  }
}

bool Landing::take_kept(i64 size) {
  const auto kept = kept_.find(size);
  if (kept == kept_.end() || !kept->second) return false;
  --kept->second;
  return true;
}

i64 Landing::allocate(i64 size) {
  const auto found = pool_.allocate(size);
  if (!found || !found->allocations) return 0;
  const double bytes = static_cast<double>(size);
  return ticks(pin_s_ * (bytes <= largest_ ? chunk_ : bytes) / PIN_UNIT_BYTES);
}

}  // namespace tasksim
