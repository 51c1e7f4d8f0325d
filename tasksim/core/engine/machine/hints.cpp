// Hints that data will not be used any more, followed after the ends that they wait for
// (engine/machine/hints.py).
#include <algorithm>
#include <utility>

#include "node.h"

namespace tasksim {

Steps<> Node::say_hint(int hint) {
  if (hint_left_.empty()) {
    hint_left_.resize(graph.hint_handle.size());
    next_wait_.resize(graph.hint_waits.items.size());
    hint_of_wait_.resize(graph.hint_waits.items.size());
  }
  const auto waits = graph.hint_waits[hint];
  for (std::size_t k = 0; k < waits.size(); ++k) {
    if (ledger.of[waits[k]].state == DONE) continue;
    const auto wait = static_cast<int>(graph.hint_waits.ptr[hint]) + static_cast<int>(k);
    hint_of_wait_[wait] = hint;
    hint_after(waits[k], wait);
    ++hint_left_[hint];
  }
  if (!hint_left_[hint]) co_await follow_hint(hint);
}

void Node::hint_after(int task, int wait) {
  std::int32_t &last = ledger.of[task].hint_wait;
  next_wait_[wait] = last == NONE ? wait : std::exchange(next_wait_[last], wait);
  last = wait;
}

Steps<> Node::hear_hint(int hint) {
  if (count_down_hint(hint)) co_await follow_hint(hint);
}

Steps<> Node::follow_hint(int hint) {
  const int handle = graph.hint_handle[hint];
  // Two pushes and a submission: StarPU submits a task for it (datawizard/coherency.c). A received
  // copy is only dropped, without such a task.
  const i64 submission = graph.hint_drops[hint] ? 0 : overheads.submission;
  if (overheads.push) co_await Wait{later(2 * overheads.push, submission)};
  while (const i64 delay = locks.wait_ticks(handle)) co_await Wait{delay};
  if (several && holds(hint)) mover.will_not_be_used(handle);
}

bool Node::holds(int hint) const { return !is_written(graph.hint_handle[hint]); }

// Looks at the tasks that ever write it, or at the taken ones, whichever are fewer.
bool Node::is_written(int handle) const {
  const auto ever = graph.writers[handle];
  if (ever.size() <= ledger.taken.size())
    return std::any_of(ever.begin(), ever.end(),
                       [this](int task) { return ledger.of[task].state == TAKEN; });
  return std::any_of(ledger.taken.begin(), ledger.taken.end(), [&](int task) {
    const auto needs = graph.needs[task];
    return std::any_of(needs.begin(), needs.end(), [handle](const Need &need) {
      return need.writes && need.handle == handle;
    });
  });
}

std::vector<int> Node::hinted(int task) const {
  std::vector<int> hints;
  const int last = ledger.of[task].hint_wait;
  for (int wait = last; wait != NONE;) {
    wait = next_wait_[wait];
    hints.push_back(hint_of_wait_[wait]);
    if (wait == last) break;
  }
  return hints;
}

bool Node::said_before(int hint, int task) const {
  return graph.hint_after[hint] <= (places_.empty() ? task : places_[task]);
}

}  // namespace tasksim
