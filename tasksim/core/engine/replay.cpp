// Replay of a task graph on one memory: one event per thing that takes time (engine/replay.py).
//
// At a task's end: the scheduler hears of it, its successors are released and pushed, and once all
// tasks that end at this instant have done so, the workers that are awake are served in order of
// their number.
#include "replay.h"

#include <algorithm>

#include "../runtime/release.h"
#include "../runtime/sleepers.h"
#include "heap.h"
#include "locality.h"

namespace tasksim {

namespace {

// Clock that counts seconds, and whose events are numbers.
class SecondsClock {
 public:
  enum What : std::int32_t { END, AWAKE, SUBMISSION };
  struct Event {
    double time;
    i64 count;
    What what;
    std::int32_t number;  // of a worker or a task

    bool before(const Event &other) const {
      return time != other.time ? time < other.time : count < other.count;
    }
  };

  bool empty() const { return queue_.empty(); }
  double next() const { return queue_.first().time; }

  void after(double delay, What what, int number) {
    queue_.push({now + delay, count_++, what, number});
  }

  Event pop() {
    const Event first = queue_.pop();
    now = first.time;
    ++events;
    return first;
  }

  double now = 0.0;
  i64 events = 0;

 private:
  Heap<Event> queue_;
  i64 count_ = 0;
};

// The time and the waking (engine/view.py). Workers that are woken are added to *awake*.
class MemoryView : public View {
 public:
  MemoryView(const Graph &graph, const Platform &platform, SecondsClock &clock)
      : View(graph, platform), sleepers(platform), clock_(clock) {}

  double now() const override { return clock_.now; }
  bool sleeping(int worker) const override { return sleepers.asleep[worker]; }

  void wake(int worker) override {
    if (!sleepers.asleep[worker]) return;
    sleepers.asleep[worker] = false;
    if (const double wakeup_s = platform.given.wakeup_s)
      clock_.after(wakeup_s, SecondsClock::AWAKE, worker);
    else
      awake.push_back(worker);
  }
  void wake_any_of(u64 classes) override {
    const int worker = sleepers.first(classes);
    if (worker >= 0) wake(worker);
  }
  void wake_all_of(u64 classes) override {
    for (const int worker : sleepers.all(classes)) wake(worker);
  }

  Sleepers sleepers;
  std::vector<int> awake;

 private:
  SecondsClock &clock_;
};

class MemoryReplay : public Replay {
 public:
  MemoryReplay(const Graph &graph, const Platform &platform, const tasksim_question &question,
               Scheduler &scheduler)
      : graph_(graph),
        question_(question),
        scheduler_(scheduler),
        submission_s_(platform.given.submission_s),
        due_(question.submitted_s),
        task_s_(platform.given.task_s),
        view_(graph, platform, clock_),
        ledger_(graph, platform, view_.able),
        release_(graph, !submission_s_ && !due_),
        charges_(graph, platform, question),
        running_(platform.workers, -1),
        patience_(ledger_, platform.workers, graph.tasks) {
    view_.able = able_classes(graph, platform, question.costs);
    view_.estimates = question.estimates;
  }

  void begin() override {
    scheduler_.attach(view_);
    if (!submission_s_ && !due_) {
      ledger_.all_submitted = true;
      push(release_.sources());
    } else if (graph_.tasks && due_ && due_[0] > 0.0) {
      clock_.after(due_[0], SecondsClock::SUBMISSION, 0);
    } else if (graph_.tasks) {
      submit_from(0);
    }
    serve();
  }

  bool go_on(i64 events) override {
    while (!clock_.empty()) {
      if (!events--) return true;
      const auto event = clock_.pop();
      switch (event.what) {
        case SecondsClock::END:
          on_end(event.number);
          break;
        case SecondsClock::AWAKE:
          view_.awake.push_back(event.number);
          serve_at_the_end_of_this_instant();
          break;
        case SecondsClock::SUBMISSION:
          submit_from(event.number);
          serve_at_the_end_of_this_instant();
          break;
      }
    }
    return false;
  }

  void end() override {
    if (!ledger_.over()) throw Broken{TASKSIM_DROPPED};
  }

  View &view() override { return view_; }
  const Ledger &ledger() const override { return ledger_; }
  double units_per_s() const override { return 1.0; }
  double now_s() const override { return clock_.now; }
  i64 events() const override { return clock_.events; }

 private:
  // Submits *task* and those after it, each when it is time. While a task is not ready, no worker
  // waits to be served, and nothing else happens before the next is submitted, no event is needed.
  void submit_from(int task) {
    std::vector<int> released;
    double due;
    for (;;) {
      ledger_.of[task].submitted = clock_.now;
      released = release_.submit(task);
      due = !due_ || task == graph_.tasks - 1 ? (task + 1) * submission_s_ : due_[task + 1];
      if (!released.empty() || task == graph_.tasks - 1 || !view_.awake.empty() ||
          (!clock_.empty() && clock_.next() <= due))
        break;
      ++task;
      clock_.now = due;
    }
    view_.pusher = NONE;
    push(released);
    if (task == graph_.tasks - 1)
      ledger_.all_submitted = true;
    else
      clock_.after(std::max(0.0, due - clock_.now), SecondsClock::SUBMISSION, task + 1);
  }

  void push(const std::vector<int> &released) {
    const double now = clock_.now;
    for (const int task : released) {
      ledger_.release(task, now, -1);
      scheduler_.push(task);
    }
  }

  void on_end(int worker) {
    const int task = running_[worker];
    const double now = clock_.now;
    ledger_.of[task].end = now;
    ledger_.finish(task);
    if (question_.hears_finished) scheduler_.finished(task, worker);
    released_.clear();
    release_.complete(task, released_);
    if (!released_.empty()) {
      view_.pusher = worker;
      for (const int successor : released_) {
        ledger_.release(successor, now, task);
        scheduler_.push(successor);
      }
    }
    view_.awake.push_back(worker);
    serve_at_the_end_of_this_instant();
  }

  void serve_at_the_end_of_this_instant() {
    if (clock_.empty() || clock_.next() > clock_.now) serve();
  }

  // Lets the workers that are awake ask for tasks, in order of their number.
  void serve() {
    while (!view_.awake.empty()) {
      awake_.clear();
      awake_.swap(view_.awake);
      std::sort(awake_.begin(), awake_.end());
      for (const int worker : awake_) serve(worker);
    }
  }

  void serve(int worker) {
    const int popped = scheduler_.pop(worker);
    if (popped == NONE) {
      view_.sleepers.sleep(worker);
      if (!--patience_.left) patience_.look(clock_.now, ledger_.idle());
      return;
    }
    const int task = ledger_.take(popped, worker);
    running_[worker] = task;
    ledger_.of[task].start = clock_.now + task_s_;
    if (question_.hears_started) scheduler_.started(task, worker);
    clock_.after(task_s_ + charges_.seconds(task, worker), SecondsClock::END, worker);
  }

  const Graph &graph_;
  const tasksim_question question_;
  Scheduler &scheduler_;
  const double submission_s_;
  const double *const due_;  // per task, when it is submitted; null: by its cost
  const double task_s_;
  SecondsClock clock_;
  MemoryView view_;
  Ledger ledger_;
  Release release_;
  Charges charges_;
  std::vector<int> running_;  // per worker its task
  std::vector<int> released_, awake_;
  Patience patience_;
};

}  // namespace

std::unique_ptr<Replay> memory_replay(const Graph &graph, const Platform &platform,
                                      const tasksim_question &question, Scheduler &scheduler) {
  return std::make_unique<MemoryReplay>(graph, platform, question, scheduler);
}

}  // namespace tasksim
