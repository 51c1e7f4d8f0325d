// Submission: the main thread submits task after task while others already run
// (engine/machine/submission.py).
#include "node.h"

namespace tasksim {

namespace {

// Whether any event happens until *due*: then the submission must wait for it.
bool something_by(const Clock &clock, i64 due) { return !clock.empty() && clock.next() <= due; }

Steps<> all_at_once(Node &node, Routine &main) {
  const std::vector<int> sources = node.release.sources();
  for (const int task : sources) co_await node.push(task, main, NONE, -1);
  for (std::size_t hint = 0; hint < node.graph.hint_handle.size(); ++hint)
    if (node.heeds_hints) co_await node.say_hint(static_cast<int>(hint));
}

Steps<> one_by_one(Node &node, Routine &main) {
  Clock &clock = node.clock;
  const i64 *const all_due = node.question.submitted;
  const i64 cost = all_due ? 0 : node.overheads.submission;
  const int hints = static_cast<int>(node.graph.hint_handle.size());
  int hint = 0;
  i64 due = clock.now;
  for (int place = 0; place < node.graph.tasks; ++place) {
    const int task = node.submitted_at(place);
    for (; hint < hints && node.graph.hint_after[hint] <= place; ++hint) {
      due = later(due, cost);
      if (something_by(clock, due)) co_await Wait{due - clock.now};
      if (node.heeds_hints) co_await node.say_hint(hint);
      due = std::max(due, clock.now);
    }
    if (all_due) due = std::max(due, all_due[task]);
    if (something_by(clock, due)) co_await Wait{due - clock.now};
    node.ledger.of[task].submitted = static_cast<double>(std::max(due, clock.now));
    const std::vector<int> released = node.release.submit(task);
    for (const int ready : released) {
      if (due > clock.now) co_await Wait{due - clock.now};
      co_await node.push(ready, main, NONE, -1);
      due = clock.now;
    }
    if (task < node.own_tasks) due = later(due, cost);
  }
  for (; hint < hints; ++hint) {
    due = later(due, cost);
    co_await Wait{due - clock.now};
    if (node.heeds_hints) co_await node.say_hint(hint);
    due = clock.now;
  }
}

}  // namespace

Steps<> submission(Node &node, Routine &main) {
  if (node.overheads.submission || node.question.submitted) {
    co_await one_by_one(node, main);
  } else {
    co_await all_at_once(node, main);
  }
  node.ledger.all_submitted = true;
}

}  // namespace tasksim
