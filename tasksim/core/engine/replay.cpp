// Replay of a task graph on cores that share one memory: the same steps as the replay of machines
// (engine/machine/workers.py), without coroutines, data or devices.
//
// When a task ends, the scheduler is notified, and its successors are released and pushed. After
// all ends of an instant, the workers that are awake ask for tasks, by number.
#include "replay.h"

#include <algorithm>
#include <functional>

#include "../runtime/release.h"
#include "../runtime/sleepers.h"
#include "clock.h"
#include "heap.h"
#include "locality.h"

namespace tasksim {

namespace {

// Clock whose events are numbers.
class NumberClock {
 public:
  enum What : std::int32_t { START, END, SUBMISSION, AWAKE };
  struct Event {
    i64 time, count;
    What what;
    std::int32_t number;  // of a worker

    // A woken worker asks for a task after all other events of its instant, in its turn.
    int phase() const { return what == AWAKE ? number : -1; }

    bool before(const Event &other) const {
      if (time != other.time) return time < other.time;
      if (phase() != other.phase()) return phase() < other.phase();
      return count < other.count;
    }
  };

  explicit NumberClock(int workers) : starts_(workers) {}

  bool empty() const { return queue_.empty() && !pending_; }
  const Event &first() const { return is_start() ? starts_[first_start_] : queue_.first(); }
  bool any_by(i64 time) const {
    return (pending_ && starts_[first_start_].time <= time) ||
           (!queue_.empty() && queue_.first().time <= time);
  }

  void after(i64 delay, What what, int number) {
    queue_.push({later(now, delay), count_++, what, number});
  }

  // Starts a task after *delay*, which is the same for all: so they come in order.
  void start_after(i64 delay, int worker) {
    starts_[place_of(pending_++)] = {later(now, delay), count_++, START, worker};
  }

  bool starts_nothing() const { return !pending_; }

  Event pop() {
    Event first;
    if (is_start()) {
      first = starts_[first_start_];
      first_start_ = place_of(1);
      --pending_;
    } else {
      first = queue_.pop();
    }
    now = first.time;
    return first;
  }

  i64 now = 0;

 private:
  bool is_start() const {
    return pending_ && (queue_.empty() || starts_[first_start_].before(queue_.first()));
  }

  std::size_t place_of(std::size_t ahead) const {
    const std::size_t place = first_start_ + ahead;
    return place < starts_.size() ? place : place - starts_.size();
  }

  Heap<Event> queue_;
  std::vector<Event> starts_;  // a ring: each worker begins one task at a time
  std::size_t first_start_ = 0, pending_ = 0;
  i64 count_ = 0;
};

// The time, wake-ups, and a heap of workers that are about to ask for a task, by number.
class MemoryView : public View {
 public:
  MemoryView(const Graph &graph, const Platform &platform, NumberClock &clock)
      : View(graph, platform),
        sleepers(platform),
        clock_(clock),
        wakeup_(ticks(platform.given.wakeup_s)),
        graph_(graph),
        start_(platform.given.start),
        resting_(platform.workers, true),
        woken_(platform.workers, false) {}

  double now() const override { return static_cast<double>(clock_.now) * 1e-9; }
  bool sleeping(int worker) const override { return sleepers.asleep[worker]; }

  void wake(int worker) override {
    sleepers.asleep[worker] = false;
    woken_[worker] = true;
    if (!resting_[worker]) return;
    resting_[worker] = false;
    const i64 rest = std::max(wakeup_, graph_.there(worker, start_) - clock_.now);
    if (rest > 0)
      clock_.after(rest, NumberClock::AWAKE, worker);
    else
      let_ask(worker);
  }
  void wake_any_of(u64 classes) override {
    const int worker = sleepers.first(classes);
    if (worker >= 0) wake(worker);
  }
  void wake_all_of(u64 classes) override {
    for (const int worker : sleepers.all(classes)) wake(worker);
  }

  // *worker* asks for a task at this instant, in its turn.
  void let_ask(int worker) {
    woken_[worker] = false;
    asking_.push_back(worker);
    if (asking_.size() > 1) std::push_heap(asking_.begin(), asking_.end(), std::greater<>{});
  }

  bool any_asks() const { return !asking_.empty(); }
  int next_to_ask() const { return asking_.front(); }
  int pop_next() {
    const int worker = asking_.front();
    if (asking_.size() > 1) std::pop_heap(asking_.begin(), asking_.end(), std::greater<>{});
    asking_.pop_back();
    return worker;
  }

  // *worker*, which got no task, sleeps, unless it was woken since its turn to ask.
  void let_rest(int worker) {
    sleepers.sleep(worker);
    if (woken_[worker])
      let_ask(worker);
    else
      resting_[worker] = true;
  }

  Sleepers sleepers;

 private:
  NumberClock &clock_;
  const i64 wakeup_;
  const Graph &graph_;
  const i64 start_;
  std::vector<char> resting_, woken_;
  std::vector<int> asking_;  // a heap
};

class MemoryReplay : public Replay {
 public:
  MemoryReplay(const Graph &graph, const Platform &platform, const tasksim_question &question,
               Scheduler &scheduler)
      : graph_(graph),
        question_(question),
        scheduler_(scheduler),
        submission_(question.submitted ? 0 : ticks(platform.given.submission_s)),
        task_cost_(ticks(platform.given.task_s)),
        one_by_one_(submission_ || question.submitted),
        clock_(platform.workers),
        view_(graph, platform, clock_),
        ledger_(graph, platform, view_.able),
        release_(graph, !one_by_one_),
        charges_(graph, platform, question),
        running_(platform.workers, -1),
        patience_(ledger_, platform.workers, graph.tasks) {
    view_.able = able_classes(graph, platform, question.costs);
    view_.estimates = question.estimates;
    if (question.decisions)
      view_.decisions = std::make_unique<Decisions>(platform.workers, graph.tasks, clock_.now);
  }

  void begin() override {
    scheduler_.attach(view_);
    if (one_by_one_) {
      submit();
    } else {
      for (const int task : release_.sources()) push(task);
      ledger_.all_submitted = true;
    }
  }

  bool go_on(i64 events) override {
    for (; view_.any_asks() || !clock_.empty(); ++events_) {
      if (!events--) return true;
      if (view_.any_asks() && !something_before(view_.next_to_ask())) {
        ask(view_.pop_next());
        continue;
      }
      const auto event = clock_.pop();
      switch (event.what) {
        case NumberClock::START:
          start(event.number);
          break;
        case NumberClock::END:
          end(event.number);
          break;
        case NumberClock::SUBMISSION:
          submit();
          break;
        case NumberClock::AWAKE:
          view_.let_ask(event.number);
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
  double units_per_s() const override { return 1e9; }
  double now_s() const override { return view_.now(); }
  i64 events() const override { return events_; }

 private:
  // Whether anything happens at this instant before the turn of *worker* to ask.
  bool something_before(int worker) const {
    if (clock_.empty()) return false;
    const auto &first = clock_.first();
    return first.time == clock_.now && first.phase() < worker;
  }

  // Whether anything happens until *due*: then the submission waits for it.
  bool something_by(i64 due) const {
    return view_.any_asks() || clock_.any_by(due);
  }

  // Submits tasks. Each is submitted when it is due and the ready tasks before it have been pushed
  // (machine/submission.py). Continues at the same place after a wait. Hints take as long as tasks,
  // and change nothing on one memory.
  void submit() {
    const int tasks = graph_.tasks, hints = static_cast<int>(graph_.hint_after.size());
    while (submitted_ < tasks) {
      if (next_push_ == NONE) {
        if (hint_ < hints && graph_.hint_after[hint_] <= submitted_) {
          if (!waited_) {
            due_ = later(due_, submission_);
            if (something_by(due_)) return wait_until_due();
          }
          waited_ = false;
          due_ = std::max(due_, clock_.now);
          ++hint_;
          continue;
        }
        if (!waited_) {
          if (question_.submitted) due_ = std::max(due_, question_.submitted[submitted_]);
          if (something_by(due_)) return wait_until_due();
        }
        waited_ = false;
        ledger_.of[submitted_].submitted = static_cast<double>(std::max(due_, clock_.now));
        released_ = release_.submit(submitted_);
        next_push_ = 0;
      }
      while (next_push_ < static_cast<int>(released_.size())) {
        if (due_ > clock_.now)
          return clock_.after(due_ - clock_.now, NumberClock::SUBMISSION, 0);
        push(released_[next_push_++]);
        due_ = clock_.now;
      }
      next_push_ = NONE;
      due_ = later(due_, submission_);
      ++submitted_;
    }
    for (; hint_ < hints; ++hint_) {
      if (!waited_) {
        due_ = later(due_, submission_);
        return wait_until_due();
      }
      waited_ = false;
      due_ = clock_.now;
    }
    ledger_.all_submitted = true;
  }

  void wait_until_due() {
    waited_ = true;
    clock_.after(due_ - clock_.now, NumberClock::SUBMISSION, 0);
  }

  void push(int task) {
    ledger_.release(task, static_cast<double>(clock_.now), NONE);
    view_.pusher = NONE;
    scheduler_.push(task);
  }

  // *worker* asks for a task.
  void ask(int worker) {
    const int popped = scheduler_.pop(worker);
    if (popped == NONE) {
      view_.let_rest(worker);
      if (!--patience_.left) patience_.look(view_.now(), ledger_.idle());
      return;
    }
    const int task = ledger_.take(popped, worker);
    ledger_.of[task].popped = static_cast<double>(clock_.now);
    if (view_.decisions) view_.decisions->taken(task, worker);
    running_[worker] = task;
    const i64 cost = graph_.goes_on_at_once(task) ? 0 : task_cost_;
    if (!cost || starts_unseen())
      start(worker, cost);
    else
      clock_.start_after(task_cost_, worker);
  }

  // Whether the start of a task is no event: nobody hears of it, and it does not decide which of an
  // end and a submission of one instant comes first. Those before it were none either.
  bool starts_unseen() const {
    return !question_.hears_started && ledger_.all_submitted && clock_.starts_nothing();
  }

  void start(int worker, i64 delay = 0) {
    const int task = running_[worker];
    ledger_.of[task].start = static_cast<double>(later(clock_.now, delay));
    if (question_.hears_started) scheduler_.started(task, worker);
    const i64 cost = ticks(charges_.seconds(task, worker));
    clock_.after(later(delay, cost), NumberClock::END, worker);
  }

  void end(int worker) {
    const int task = running_[worker];
    ledger_.of[task].end = static_cast<double>(clock_.now);
    ledger_.finish(task);
    if (question_.hears_finished) scheduler_.finished(task, worker);
    const bool exclusive = !graph_.exclusive.empty();
    if (exclusive)
      for (const int granted : release_.give_back(task)) push_after(task, worker, granted);
    for (const int successor : graph_.successors_of(task))
      if (release_.count_down(successor) && (!exclusive || release_.grant(successor)))
        push_after(task, worker, successor);
    view_.let_ask(worker);
  }

  // Pushes *released*, the tasks that the end of *task* on *worker* has released.
  void push_after(int task, int worker, int released) {
    ledger_.release(released, static_cast<double>(clock_.now), task);
    view_.pusher = worker;
    scheduler_.push(released);
  }

  const Graph &graph_;
  const tasksim_question question_;
  Scheduler &scheduler_;
  const i64 submission_, task_cost_;
  const bool one_by_one_;  // whether tasks are submitted one after the other
  NumberClock clock_;
  MemoryView view_;
  Ledger ledger_;
  Release release_;
  Charges charges_;
  std::vector<int> running_;  // per worker, its task
  Patience patience_;
  i64 events_ = 0;
  // Of the submission: numbers of tasks and hints, due time of the next, whether it has waited for
  // that time, and the next to be pushed of the tasks that the last submission released.
  int submitted_ = 0, hint_ = 0, next_push_ = NONE;
  i64 due_ = 0;
  bool waited_ = false;
  std::vector<int> released_;
};

}  // namespace

std::unique_ptr<Replay> memory_replay(const Graph &graph, const Platform &platform,
                                      const tasksim_question &question, Scheduler &scheduler) {
  return std::make_unique<MemoryReplay>(graph, platform, question, scheduler);
}

}  // namespace tasksim
