#include "execution.h"

#include <new>

namespace tasksim {

namespace {

// Number of tasks submitted between two readings of the clock.
constexpr int SUBMISSIONS_PER_CLOCK_READING = 64;

}  // namespace

// A section under the lock. The bells of woken workers are rung after it.
class Execution::Section {
 public:
  explicit Section(Execution &run) : run_(run) { enter(); }
  Section(Execution &run, std::adopt_lock_t) : run_(run) { begin(); }
  ~Section() { leave(); }
  Section(const Section &) = delete;
  Section &operator=(const Section &) = delete;

  void enter() {
    run_.lock_.lock();
    begin();
  }

  void leave() {
    if (!held_) return;
    woken_.swap(run_.view.woken);
    held_ = false;
    run_.lock_.unlock();
    for (const int worker : woken_) run_.view.bells[worker].ring();
    woken_.clear();
  }

  bool held() const { return held_; }

 private:
  void begin() {
    held_ = true;
    run_.view.instant_s = run_.view.clock_s();
  }

  Execution &run_;
  bool held_ = false;
  std::vector<int> woken_;
};

Execution::Execution(const Graph &graph, const Platform &platform, const Program &program,
                     std::unique_ptr<Scheduler> scheduler, const double *estimates, bool spins,
                     bool foreign)
    : view(graph, platform, estimates),
      ledger(graph, platform, view.able),
      graph_(graph),
      program_(program),
      scheduler_(std::move(scheduler)),
      release_(graph, false),
      patience_(ledger, platform.workers, graph.tasks),
      lock_(spins),
      foreign_(foreign),
      spin_(spins ? SPIN_TIME : SPIN_TIME.zero()),
      left_(graph.tasks) {}

bool Execution::attach() {
  try {
    scheduler_->attach(view);
  } catch (const Broken &broken) {
    fail(broken);
  }
  return !error;
}

// Called by the submitting thread

// Takes the lock; false if a scheduler outside of the core has not given it back.
bool Execution::enter_within(double patience_s) {
  if (foreign_) return lock_.lock_within(patience_s);
  lock_.lock();
  return true;
}

bool Execution::submit(double patience_s) {
  const auto until = Clock::now() + seconds(patience_s);
  for (int turn = 1; submitted_ <= graph_.tasks; ++turn) {
    if (!enter_within(patience_s)) return true;
    Section section(*this, std::adopt_lock);
    if (over_) return false;
    submit_one();
    if (turn % SUBMISSIONS_PER_CLOCK_READING == 0 && Clock::now() > until) return true;
  }
  return false;
}

// The end of the submission comes after the last task.
void Execution::submit_one() {
  const int task = submitted_++;
  try {
    if (task == graph_.tasks) {
      ledger.all_submitted = true;
      return stop_if_stuck_or_done();
    }
    ledger.of[task].submitted = view.now();
    view.pusher = NONE;
    push(release_.submit(task), -1);
  } catch (const Broken &broken) {
    fail(broken);
  }
}

bool Execution::wait(double patience_s) {
  std::unique_lock guard(end_mutex_);
  return ended_.wait_for(guard, seconds(patience_s), [this] { return over_.load(); });
}

bool Execution::finish(double patience_s) {
  over_ = true;
  if (enter_within(patience_s)) {
    Section section(*this, std::adopt_lock);
    end();
    return true;
  }
  end();  // sleeping threads do not need the lock to leave
  return false;
}

// Called by the workers' threads

void Execution::work(int worker) {
  const Reading idle = idle_.empty() ? Reading{0.0, 0.0} : idle_[worker];
  if (!processor_times_.empty())
    processor_times_[worker].begin(processor_uses, view.clock_s(), idle);
  work_until_over(worker);
  if (!processor_times_.empty()) processor_times_[worker].finish(view.clock_s());
}

void Execution::work_until_over(int worker) {
  Section section(*this);
  try {
    for (int task; (task = next(worker, section)) != NONE; complete(task, worker)) {
      section.leave();
      if (const i64 told = execute(task, worker))
        throw Broken{TASKSIM_KERNEL, task, worker, told};
      if (over_) return;
      section.enter();
      if (over_) return;  // the state at an error is kept
    }
  } catch (const Broken &broken) {
    if (!section.held()) section.enter();
    fail(broken);
  } catch (const std::bad_alloc &) {
    if (!section.held()) section.enter();
    fail(Broken{TASKSIM_NO_MEMORY});
  }
}

i64 Execution::execute(int task, int worker) {
  return program_.is_called_back(task) ? execute_called_back(task, worker)
                                       : execute_called(task, worker);
}

i64 Execution::execute_called(int task, int worker) {
  ProcessorTime *times = processor_times_.empty() ? nullptr : &processor_times_[worker];
  Life &life = ledger.of[task];
  life.start = view.clock_s();
  if (times && times->look_after_pause(life.start)) life.start = view.clock_s();
  const i64 told = program_.call(task, worker);
  life.end = view.clock_s();
  if (times) times->ended(task, life.start, life.end);
  return told;
}

i64 Execution::execute_called_back(int task, int worker) {
  double times[] = {view.origin_s, view.origin_s};
  const i64 told = program_.call_back(task, worker, times);
  ledger.of[task].start = times[0] - view.origin_s;
  ledger.of[task].end = times[1] - view.origin_s;
  return told;
}

// The next task of *worker*, which sleeps until there is one; NONE when the run is over.
int Execution::next(int worker, Section &section) {
  while (!over_) {
    const int popped = scheduler_->pop(worker);
    if (over_) break;  // an interruption does not wait for a scheduler's callback
    if (popped != NONE) {
      const int task = ledger.take(popped, worker);
      scheduler_->started(task, worker);
      return task;
    }
    if (!--patience_.left) patience_.look(view.now(), ledger.idle());
    view.fall_asleep(worker);
    stop_if_stuck_or_done();
    if (over_) break;
    section.leave();
    view.bells[worker].wait(spin_);
    section.enter();
  }
  return NONE;
}

// Called by the outside thread

std::optional<std::span<const int>> Execution::handed_out(double busy_s, double idle_s) {
  for (const bool last : {false, true}) {
    if (!enter_within(idle_s)) return std::span<const int>();
    double patience_s;
    {
      Section section(*this, std::adopt_lock);
      if (over_) return std::nullopt;
      handed_out_.swap(to_hand_out_);
      to_hand_out_.clear();
      some_to_hand_out_ = false;
      patience_s = view.sleepers ? idle_s : busy_s;
    }
    if (!handed_out_.empty() || last) break;
    std::unique_lock guard(outside_mutex_);
    released_outside_.wait_for(guard, seconds(patience_s),
                               [this] { return some_to_hand_out_ || over_; });
  }
  return handed_out_;
}

void Execution::completed(std::span<const std::int32_t> tasks, const double *start_s,
                          const double *end_s) {
  Section section(*this);
  if (over_) return;
  try {
    for (std::size_t k = 0; k < tasks.size(); ++k)
      complete_outside(tasks[k], start_s[k], end_s[k]);
    stop_if_stuck_or_done();
  } catch (const Broken &broken) {
    fail(broken);
  }
}

// Called under the lock

void Execution::complete(int task, int worker) {
  ledger.finish(task);
  --left_;
  scheduler_->finished(task, worker);
  release_successors(task, worker);
  if (!left_) stop_if_stuck_or_done();
}

void Execution::release_successors(int task, int worker) {
  freed_.clear();
  release_.complete(task, freed_);
  if (paths && worker != NONE) {
    const Life &life = ledger.of[task];
    paths->ended(task, worker, life.ready, life.start, life.end, freed_);
  }
  if (freed_.empty()) return;
  view.pusher = worker;
  push(freed_, task);
}

void Execution::complete_outside(int task, double start_s, double end_s) {
  ledger.of[task].start = start_s;
  ledger.of[task].end = end_s;
  ledger.finish(task);
  --left_;
  release_successors(task, NONE);
}

void Execution::push(const std::vector<int> &released, int by) {
  for (const int task : released) {
    ledger.release(task, view.now(), by);
    if (outside_ && outside_[task])
      hand_out(task);
    else
      scheduler_->push(task);
  }
}

void Execution::hand_out(int task) {
  ledger.hand_over(task);
  to_hand_out_.push_back(task);
  {
    const std::lock_guard guard(outside_mutex_);
    some_to_hand_out_ = true;
  }
  released_outside_.notify_one();
}

void Execution::stop_if_stuck_or_done() {
  if (!ledger.all_submitted) return;
  if (left_ && view.all_asleep() && ledger.taken.empty()) fail(Broken{TASKSIM_DROPPED});
  if (!left_) end();
}

void Execution::fail(const Broken &broken) {
  if (!error) {
    error = broken;
    error_s = view.now();
  }
  end();
}

void Execution::end() {
  {
    const std::lock_guard guard(end_mutex_);
    over_ = true;
  }
  ended_.notify_all();
  {
    const std::lock_guard guard(outside_mutex_);  // so that a thread about to wait has seen it
  }
  released_outside_.notify_all();
  for (Bell &bell : view.bells) bell.ring();
}

}  // namespace tasksim
