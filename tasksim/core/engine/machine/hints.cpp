// Hints that data will not be used any more, followed once their last writer so far has ended
// (engine/machine/hints.py).
#include <algorithm>
#include <utility>

#include "node.h"

namespace tasksim {

Steps<> Node::say_hint(int hint) {
  const int writer = graph.hint_writer[hint];
  if (writer < 0 || ledger.of[writer].state == DONE)
    co_await follow_hint(graph.hint_handle[hint]);
  else
    hint_after(writer, hint);
}

void Node::hint_after(int writer, int hint) {
  std::int32_t &last = ledger.of[writer].hint;
  next_hint_.resize(graph.hint_handle.size());
  next_hint_[hint] = last == NONE ? hint : std::exchange(next_hint_[last], hint);
  last = hint;
}

Steps<> Node::follow_hint(int handle) {
  // Two pushes and a submission: StarPU submits a task for it (datawizard/coherency.c).
  if (overheads.push) co_await Wait{later(2 * overheads.push, overheads.submission)};
  while (const i64 delay = locks.wait_ticks(handle)) co_await Wait{delay};
  if (several && holds(handle)) mover.will_not_be_used(handle);
}

bool Node::holds(int handle) const { return !is_written(handle); }

// Looks at the tasks that write it ever, or at those that were taken, whichever are fewer.
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
  const int last = ledger.of[task].hint;
  for (int hint = last; hint != NONE;) {
    hint = next_hint_[hint];
    hints.push_back(hint);
    if (hint == last) break;
  }
  return hints;
}

bool Node::said_before(int hint, int task) const {
  return graph.hint_after[hint] <= (places_.empty() ? task : places_[task]);
}

}  // namespace tasksim
