// Decisions: the record of a scheduler's decisions, with estimates for candidates and moves of tasks
// in queues (schedulers/decisions.py).
#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "../problem.h"

namespace tasksim {

// The terms of a task on one worker, in seconds; NaN for one that the policy does not have.
struct Estimate {
  static constexpr double NO_TERM = std::numeric_limits<double>::quiet_NaN();

  int worker;
  double free = NO_TERM, transfer = NO_TERM, duration = NO_TERM, energy = NO_TERM, end = NO_TERM,
         cost = NO_TERM;
};

class Decisions {
 public:
  // *ticks*: the time, as a whole number.
  Decisions(int workers, int tasks, const i64 &ticks)
      : workers_(workers), ticks_(ticks), queues_of_(tasks) {}

  // The queue with a number among those that belong to no single worker.
  int shared(int number = 0) const { return workers_ + number; }

  // *task* goes to *worker*, by the estimates for all candidates if there are any.
  void decided(int task, int worker, std::vector<Estimate> estimates = {});

  // *task* entered a queue sorted by a key, behind tasks with the same key; it leaves the queues
  // that it was in.
  void queued(int task, int queue, i64 key = 0, i64 second_key = 0);

  // *task* entered a queue at *position*; it leaves the queues that it was in, unless it is now
  // *also* in this one.
  void queued_at(int task, int queue, i64 position, bool also = false);

  // *task* left a queue without being taken.
  void left(int task, int queue);

  // *worker* took *task*; the runtime calls it.
  void taken(int task, int worker);

  void write(tasksim_decisions &columns) const;

 private:
  enum Step : std::int8_t { CANDIDATE, CHOSEN, QUEUED, LEFT, TAKEN };
  static constexpr int NO_QUEUE = -1;

  struct Entry {
    i64 key, second_key;
    int task;
  };

  int owner(int queue) const { return queue < workers_ ? queue : -1; }
  std::deque<Entry> &tasks_in(int queue);
  void enter(const Entry &entry, int queue, i64 position);
  void leave(int task);
  void remove(int task, int queue, Step step, int worker);
  void note(int task, Step step, int queue, i64 position, const Estimate &estimate);

  int workers_;
  const i64 &ticks_;
  std::vector<std::deque<Entry>> queues_;
  std::vector<std::vector<int>> queues_of_;  // per task

  std::vector<double> time_;
  std::vector<std::int32_t> task_, worker_, queue_, position_;
  std::vector<std::int8_t> step_;
  std::vector<double> free_, transfer_, duration_, energy_, end_, cost_;
};

}  // namespace tasksim
