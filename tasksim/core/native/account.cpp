#include "account.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>

namespace tasksim {

namespace {

// Shortest wait for a measured task, in seconds: the time to wake a thread.
constexpr double MIN_WAIT_S = 1e-5;

}  // namespace

AccountView::AccountView(const Graph &graph, const Platform &platform, const double *costs)
    : View(graph, platform), asleep_(platform.workers, true) {
  estimates = costs;
  able.assign(graph.tasks, ~u64{0} >> (MAX_CLASSES - platform.classes));
}

void AccountView::wake(int worker) {
  if (!asleep_[worker]) return;
  asleep_[worker] = false;
  awake.push_back(worker);
}

void AccountView::wake_any_of(u64 classes) {
  for (int worker = 0; worker < workers(); ++worker)
    if (asleep_[worker] && runs(worker, classes)) return wake(worker);
}

void AccountView::wake_all_of(u64 classes) {
  for (int worker = 0; worker < workers(); ++worker)
    if (asleep_[worker] && runs(worker, classes)) wake(worker);
}

Account::Account(const Graph &graph, const Platform &platform, const Program &program,
                 std::unique_ptr<Scheduler> scheduler, const double *estimates,
                 const tasksim_selection &selection, bool spins)
    : view(graph, platform, estimates),
      ledger(graph, platform, view.able),
      paths({selection.of_task, static_cast<std::size_t>(graph.tasks)},
            static_cast<int>(selection.kernels), platform.workers),
      graph_(graph),
      program_(program),
      scheduler_(std::move(scheduler)),
      release_(graph, false),
      patience_(ledger, platform.workers, graph.tasks),
      chooser_(selection, graph.tasks, platform.workers),
      safe_ptr_(selection.safe_ptr, selection.safe_ptr ? graph.tasks + 1 : 0),
      safe_target_(selection.safe_target),
      safe_source_(selection.safe_source),
      safe_bytes_(selection.safe_bytes),
      company_(selection.company),
      rehearse_(selection.rehearse),
      idle_(selection.idle),
      crowding_(selection),
      spin_(spins ? SPIN_TIME : SPIN_TIME.zero()),
      left_(graph.tasks),
      seats_(platform.workers),
      usual_(selection.kernels) {}

// The main thread

bool Account::attach() {
  try {
    scheduler_->attach(view);
  } catch (const Broken &broken) {
    fail(broken);
  }
  return !error;
}

void Account::submit() {
  const std::lock_guard guard(mutex_);
  try {
    view.pusher = NONE;
    for (int task = 0; task < graph_.tasks; ++task) push(release_.submit(task), -1);
    ledger.all_submitted = true;
  } catch (const Broken &broken) {
    fail(broken);
  }
  change();
}

bool Account::wait(double patience_s) {
  std::unique_lock guard(mutex_);
  return ended_.wait_for(guard, seconds(patience_s), [this] { return over_.load(); });
}

void Account::stop() {
  const std::lock_guard guard(mutex_);
  finish();
}

// The threads of the workers

void Account::work(int worker) {
  if (idle_) seats_[worker].core.begin(clock_s(), idle_[worker]);
  Guard guard(mutex_);
  seats_[worker].clock.begin();
  i64 seen = -1;
  try {
    while (!over_) {
      const double wait_s = advance();
      if (over_) break;
      if (seats_[worker].job) {
        execute(worker, guard);
        continue;
      }
      const bool news = seen != changes_;
      seen = changes_;
      sleep(guard, wait_s, news);
    }
  } catch (const Broken &broken) {
    if (!guard.owns_lock()) guard.lock();
    fail(broken);
  } catch (const std::bad_alloc &) {
    if (!guard.owns_lock()) guard.lock();
    fail(Broken{TASKSIM_NO_MEMORY});
  }
}

void Account::execute(int worker, Guard &guard) {
  Seat &seat = seats_[worker];
  seat.job = false;
  const int task = seat.task;
  const int rehearsed = rehearse_ && seat.measuring ? seat.before : NONE;
  const bool safe = effort.skipped + effort.accompanied > 0;
  if (rehearsed != NONE) ++effort.rehearsed;
  const int kernel = chooser_.of_task()[task];
  UsualLoss &usual = usual_[kernel];
  const bool blocks = usual.blocks();
  guard.unlock();
  if (rehearsed != NONE) {  // so that the data which it would have touched are in the caches
    make_safe(rehearsed);
    program_.call(rehearsed, worker);
  }
  if (safe) make_safe(task);
  CoreState &core = seat.core;
  if (core.is_due(clock_s())) core.read(clock_s());
  seat.crowding = blocks ? 1.0 : crowding_(core.last(), kernel);
  const std::int64_t preempted = thread_preemptions();
  seat.cpu_began = thread_cpu_s();
  const double began = clock_s();
  seat.began.store(began, std::memory_order_release);
  const i64 told = program_.call(task, worker);
  const double wall_s = clock_s() - began, cpu_s = thread_cpu_s() - seat.cpu_began;
  const bool interrupted = thread_preemptions() != preempted;
  const Reading state = core.is_due(clock_s()) ? core.read(clock_s()) : core.last();
  guard.lock();
  if (over_) return;
  if (told) throw Broken{TASKSIM_KERNEL, task, worker, told};
  seat.own = usual.own_s(wall_s, cpu_s, interrupted);
  if (!usual.blocks()) seat.own /= crowding_(state, kernel);
  returned(worker);
}

void Account::make_safe(int task) const {
  if (safe_ptr_.empty()) return;
  for (i64 k = safe_ptr_[task]; k < safe_ptr_[task + 1]; ++k)
    std::memcpy(safe_target_[k], safe_source_[k], static_cast<std::size_t>(safe_bytes_[k]));
}

// Waits for a change, for a limited time if time alone may change anything. It spins if there is
// *news*, and else sleeps: a measured task may need its core.
void Account::sleep(Guard &guard, double patience_s, bool news) {
  const i64 seen = changes_;
  const auto until = Clock::now() + seconds(std::max(patience_s, MIN_WAIT_S));
  if (news && spin_.count()) {
    const auto spun = std::min(until, Clock::now() + spin_);
    guard.unlock();
    while (changes_.load(std::memory_order_relaxed) == seen && Clock::now() < spun) pause();
    guard.lock();
  }
  const auto changed = [this, seen] { return changes_ != seen || over_; };
  if (patience_s < INF)
    changed_.wait_until(guard, until, changed);
  else
    changed_.wait(guard, changed);
}

// Under the lock

void Account::change() {
  changes_.fetch_add(1, std::memory_order_relaxed);
  changed_.notify_all();
}

void Account::returned(int worker) {
  Seat &seat = seats_[worker];
  if (!seat.measuring) {
    seat.company = false;
    return;
  }
  const double seconds = seat.own;
  seat.measuring = false;
  --measuring_;
  // The clocks of two threads may differ by more than the account has advanced meanwhile.
  ends_.push({std::max(seat.start + seconds, view.now_s), seat.begun, worker});
  chooser_.measured(seat.task, seconds);
  effort.executed_s += seconds;
  seat.measured_s += seconds;
  effort.busiest_s = std::max(effort.busiest_s, seat.measured_s);
}

// Advances the account as far as possible; returns the time to wait if only time is missing, else
// infinity: the thread that returns first from a task advances it.
double Account::advance() {
  while (!over_) {
    // As in a replay: all ends of an instant first, then the workers, by number.
    if (ends_.empty() || ends_.top().end > view.now_s) serve();
    if (ends_.empty()) {
      stop_if_stuck_or_done();
      return INF;
    }
    const End next = ends_.top();
    const double ahead_s = next.end - horizon();
    if (ahead_s >= 0) return ahead_s;
    if (seats_[next.worker].company) return INF;
    ends_.pop();
    end(next.worker, next.end);
  }
  return INF;
}

// The time on the account before which no measured task ends.
double Account::horizon() const {
  double found = INF;
  if (!measuring_) return found;
  for (const Seat &seat : seats_)
    if (seat.measuring) found = std::min(found, seat.start + elapsed(seat));
  return found;
}

// Lower bound on the time that the task of *seat* has run: it does not grow while others have its
// core, and slower while they slow it.
double Account::elapsed(const Seat &seat) {
  const double began = seat.began.load(std::memory_order_acquire);
  if (began == 0.0) return 0.0;
  const double wall_s = std::max(clock_s() - began, 0.0);
  const double cpu_s = seat.clock.now_s() - seat.cpu_began;
  return (cpu_s < wall_s ? std::max(cpu_s, 0.0) : wall_s) / seat.crowding;  // NaN: by the wall clock
}

void Account::serve() {
  while (!view.awake.empty()) {
    awake_.clear();
    awake_.swap(view.awake);
    std::sort(awake_.begin(), awake_.end());
    for (const int worker : awake_) {
      const int popped = scheduler_->pop(worker);
      if (popped == NONE) {
        view.fall_asleep(worker);
        if (!--patience_.left) patience_.look(view.now_s, ledger.idle());
        continue;
      }
      const int task = ledger.take(popped, worker);
      scheduler_->started(task, worker);
      start(task, worker);
    }
  }
}

void Account::start(int task, int worker) {
  const double now = view.now_s;
  Life &life = ledger.of[task];
  life.popped = life.start = now;
  Seat &seat = seats_[worker];
  seat.before = seat.executed ? NONE : seat.task;
  seat.task = task;
  seat.executed = false;
  seat.begun = ++starts_;
  seat.start = now;
  const auto charged = chooser_.charge(task, worker, *paths.before(task, worker, life.ready), now);
  if (charged) {
    ++effort.skipped;
    ends_.push({now + *charged, seat.begun, worker});
    if (measuring_) accompany(worker);
    return;
  }
  ++effort.executed;
  ++measuring_;
  seat.measuring = true;
  hand_out(worker);
  for (const End &other : ends_.items()) accompany(other.worker);
}

// Lets *worker* execute its charged task, unless it has done so.
void Account::accompany(int worker) {
  Seat &seat = seats_[worker];
  if (!company_ || seat.executed) return;
  seat.company = true;
  --effort.skipped;
  ++effort.accompanied;
  hand_out(worker);
}

void Account::hand_out(int worker) {
  Seat &seat = seats_[worker];
  seat.executed = seat.job = true;
  seat.began.store(0.0, std::memory_order_relaxed);
  change();
}

void Account::end(int worker, double end_s) {
  const int task = seats_[worker].task;
  view.now_s = std::max(view.now_s, end_s);
  Life &life = ledger.of[task];
  life.end = end_s;
  ledger.finish(task);
  --left_;
  scheduler_->finished(task, worker);
  freed_.clear();
  release_.complete(task, freed_);
  paths.ended(task, worker, life.ready, life.start, end_s, freed_);
  view.pusher = worker;
  push(freed_, task);
  view.awake.push_back(worker);
}

void Account::push(const std::vector<int> &released, int by) {
  for (const int task : released) {
    ledger.release(task, view.now_s, by);
    scheduler_->push(task);
  }
}

void Account::stop_if_stuck_or_done() {
  if (!ledger.all_submitted || measuring_) return;
  if (left_) return fail(Broken{TASKSIM_DROPPED});
  finish();
}

void Account::fail(const Broken &broken) {
  if (!error) {
    error = broken;
    error_s = view.now_s;
  }
  finish();
}

void Account::finish() {
  over_ = true;
  change();
  ended_.notify_all();
}

}  // namespace tasksim
