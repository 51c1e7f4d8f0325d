// Node: a scheduler, and all that it rules: its view, its workers, its memories.
#pragma once

#include <memory>
#include <vector>

#include "../../runtime/release.h"
#include "../../runtime/sleepers.h"
#include "../../schedulers/scheduler.h"
#include "../data/handling.h"
#include "../data/landing.h"
#include "../locality.h"
#include "instant.h"
#include "intake.h"
#include "rate.h"

namespace tasksim {

class Node;

// A worker as its node sees it (engine/machine/driver.py).
struct Driver : Forerunner {
  Driver(const Node &node, int worker, const Platform &platform, std::unique_ptr<Routine> own)
      : node(node),
        worker(worker),
        memory(platform.memory_of[worker]),
        pipeline(platform.pipeline[worker]),
        own(std::move(own)),
        routine(*this->own) {}

  void send_for(int turns) const override;  // as its task is about to end

  const Node &node;
  int task = NONE;  // that a core runs
  int worker, memory;
  int pipeline;  // how many tasks it holds at a time; 0: a core, which runs them itself
  double rank = 2.0;
  Turns *turns = nullptr;
  std::unique_ptr<Intake> intake;
  std::unique_ptr<Routine> own;  // last: it refers to what is above
  Routine &routine;
};

namespace threads {
class Kernel;
class Threads;
}

// The time, the workers and where data are, for the scheduler (engine/machine/view.py).
class NodeView : public View {
 public:
  NodeView(Node &node, const Graph &graph, const Platform &platform);

  double now() const override;
  bool sleeping(int worker) const override { return sleepers.asleep[worker]; }
  void wake(int worker) override;
  void wake_any_of(u64 classes) override;
  void wake_all_of(u64 classes) override;
  double transfer_estimate(int task, int memory) override;
  Lacks unready(int task, int memory) override;
  std::unique_ptr<Readiness> readiness(int memory) override;
  double copy_estimate(double bytes, int source, int target) override;
  void prefetch(int task, int memory) override;
  void prefetch_handle(int handle, int memory) override;
  void soon(int task) override;

  // Who will be woken first by a push, before it is.
  void send_for_sleeper() const;
  void send_for_sleepers_frame() const;

  Sleepers sleepers;
  std::vector<Routine *> routines;  // of the workers

 private:
  Node &node_;
  std::vector<int> driven_;  // the workers that drive a device
  u64 cores_ = 0;            // the classes of those that do not
};

// What sets the rate of tasks that share cores with those of other nodes.
class Rated {
 public:
  virtual Steps<> run(i64 ticks, Routine &routine) = 0;  // waits until so much work is done

 protected:
  ~Rated() = default;
};

// What a node of a cluster does besides running tasks, and what it shares with the others
// (engine/machine/node.py).
class Membership {
 public:
  virtual void communicate(int task) = 0;  // takes a communication task that was released
  virtual void send_for(int task) const = 0;  // one that will be
  // Hears of each task that has ended, where received data land in pinned memory.
  virtual void ended(int task) = 0;
  virtual bool idle() const = 0;           // nothing happens on any node, nor between them
  virtual bool over() const = 0;           // all nodes have done everything

  const Graph &visible;  // the tasks that its workers run: its scheduler sees no other
  const std::span<const std::int32_t> order;  // all, communication among them, as they are submitted
  const int first_ready;  // how many tasks wait for nothing, not even a message
  threads::Kernel &kernel;  // runs the threads of all nodes that have any
  Rated *const cores;     // what its workers run on; null: each on a core of its own

 protected:
  Membership(const Graph &visible, std::span<const std::int32_t> order, int first_ready,
             threads::Kernel &kernel, Rated *cores)
      : visible(visible),
        order(order),
        first_ready(first_ready),
        kernel(kernel),
        cores(cores) {}
  ~Membership() = default;
};

inline constexpr int MAIN = 0;  // the memory from which messages are sent, and into which they come

// The workers of a platform under one scheduler (engine/machine/node.py).
class Node {
 public:
  // Of a cluster's node, a *member*: its tasks come first, its communication tasks behind them, and
  // estimates are those of its tasks.
  Node(const Graph &graph, const Platform &platform, const tasksim_question &question,
       Scheduler &scheduler, Clock &clock, Membership *member = nullptr);

  ~Node();

  void begin();

  // Throws Broken if the data of a task that was taken never came.
  void refuse_what_is_stuck() const;

  // A new routine, which does nothing yet.
  std::unique_ptr<Routine> routine();

  int pop(Driver &driver);
  int take(int popped, int worker);  // the task that the scheduler has given, checked and noted
  Steps<> unlocked(int task);
  Steps<> finish(Driver &driver, int task);
  void finish_at_once(int worker, int task);
  Steps<> finish_communication(int task, Routine &routine);
  void leave(std::span<const Need> needs, Driver &driver);  // which needs them no more
  Steps<> push(int task, Routine &routine, int pusher, int released_by);
  void hand_over(int task, int released_by);  // a communication task that was released just now
  void hear_end(int task);  // where received data land: it needs none of them any more

  // Hints that data will not be used any more (engine/machine/hints.py).
  Steps<> say_hint(int hint);
  Steps<> hear_hint(int hint);    // an end that it waits for: follows it if that is the last
  bool count_down_hint(int hint) { return !--hint_left_[hint]; }
  bool holds(int hint) const;  // no task that comes after it writes its datum already
  bool is_written(int handle) const;  // by a task that was taken (engine/machine/hints.py)
  std::vector<int> hinted(int task) const;  // the hints that wait for its end, in order
  bool said_before(int hint, int task) const;  // whether *hint* was, when *task* was submitted

  // For the push of *task*, for its end: its successors, then what each of them still waits for.
  void send_for_push(int task) const;
  void send_for_successors(int task) const;
  void send_for_end(int task) const;
  void send_for_counts(int task) const;

  bool alone(const Driver &driver, int task) const {
    return question.alone && question.alone[i64{platform.class_of[driver.worker]} * graph.kernels +
                                            graph.kernel[task]];
  }
  i64 cost(int task, int worker) { return ticks(charges.seconds(task, worker)); }
  double now() const { return static_cast<double>(clock.now); }
  void started(int task, int worker) {
    if (question.hears_started) scheduler.started(task, worker);
  }

  Rated *shared_cores() const { return member_ ? member_->cores : nullptr; }

  // The task that is submitted at so many others.
  int submitted_at(int place) const { return member_ ? member_->order[place] : place; }

  const Graph &graph;
  const int own_tasks;  // that workers run; those of higher numbers are communication
  const Platform &platform;
  const tasksim_platform &overheads;
  const tasksim_question question;
  Scheduler &scheduler;
  Clock &clock;
  const bool several;  // memories
  const bool blind;
  const bool heeds_hints;  // they move something, or take time
  const bool prompt;       // nothing that the end of a task brings about takes time, or its turn
  const Instant instant;
  NodeView view;
  Ledger ledger;
  Release release;
  Charges charges;
  std::unique_ptr<Rate> rate;  // of tasks that slow each other down, where any do
  Requests all_requests;  // they outlive all that refers to them
  // Who runs the workers instead of the node's own drivers, if anybody (engine/threads/).
  std::unique_ptr<threads::Threads> threads;
  std::vector<std::unique_ptr<Turns>> turns;
  std::vector<std::unique_ptr<Driver>> drivers;
  std::vector<std::unique_ptr<Routine>> own_keepers;  // of memories without a device's worker
  Copies copies;
  Ways ways;
  CopyEstimates estimates;
  Locks locks;
  CopyLog log;
  OpenRequests requests;
  Eviction eviction;
  Handling handling;
  Mover mover;
  std::unique_ptr<Landing> landing;  // of a cluster's node, where it costs anything

 private:
  class Released;

  static constexpr int FEW_CLASSES = 8;  // whose estimates are sent for

  Steps<> communicate(int task, Routine &routine, int released_by);
  Steps<> follow_hint(int hint);
  void hint_after(int task, int wait);
  std::vector<Routine *> make_keepers();
  void make_turns();
  void make_drivers();
  void make_landing();
  void keep_where_data_fit();

  Membership *const member_;
  std::vector<std::unique_ptr<class Device>> devices_;
  Patience patience_;
  std::vector<double> fitting_estimates_;  // infinite where the data of a task do not fit
  // The waits of hints for a task are a ring, of which its life knows the last.
  std::vector<std::int32_t> next_wait_, hint_of_wait_;
  std::vector<std::int32_t> hint_left_;  // per hint, how many ends it still waits for
  std::vector<std::int32_t> places_;  // of tasks in the order of submission, where that is not theirs
};

// The routines of a node, each in the file of its name.
Steps<> core(Node &node, Driver &driver);
Steps<> keeper(Node &node, int memory);
Steps<> submission(Node &node, Routine &main);

// What a driver's worker does that brings the data of one task while another runs.
class Device : public Awaiting {
 public:
  Device(Node &node, Driver &driver) : node_(node), driver_(driver) {}
  Steps<> steps();
  void happen(i64) override;  // the kernel that runs has ended

 private:
  Steps<bool> take_one();
  Steps<> launch(int task);
  Steps<> take_back();
  void queue(int task);
  void run(int task);

  Node &node_;
  Driver &driver_;
  std::deque<int> held_;    // the tasks popped and not finished, the oldest first
  std::deque<int> queued_;  // of those, the ones whose kernels the device runs, or will
  i64 over_ = 0;            // how many of the oldest have ended on the device
};

}  // namespace tasksim
