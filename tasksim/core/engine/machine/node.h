// Node: a scheduler with its view, its workers and its memories.
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

// A worker of a node (engine/machine/driver.py).
struct Driver : Forerunner {
  Driver(const Node &node, int worker, const Platform &platform, std::unique_ptr<Routine> own)
      : node(node),
        worker(worker),
        memory(platform.memory_of[worker]),
        pipeline(platform.pipeline[worker]),
        own(std::move(own)),
        routine(*this->own) {}

  void send_for(int turns) const override;  // before the end of its task

  const Node &node;
  int task = NONE;  // the running task of a core
  int worker, memory;
  int pipeline;  // tasks that it holds at a time; 0: a core
  double phase = 2.0;
  Turns *turns = nullptr;
  std::unique_ptr<Intake> intake;
  std::unique_ptr<Routine> own;  // last: it refers to the members above
  Routine &routine;
};

namespace threads {
class Kernel;
class Threads;
}

// The time, the workers and the places of data, for the scheduler (engine/machine/view.py).
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
  bool holds(int handle, int memory) override;
  std::unique_ptr<Readiness> readiness(int memory) override;
  double copy_estimate(double bytes, int source, int target) override;
  void prefetch(int task, int memory) override;
  void prefetch_handle(int handle, int memory) override;
  void soon(int task) override;

  // Worker that a push is likely to wake first, to prefetch.
  void send_for_sleeper() const;
  void send_for_sleepers_frame() const;

  Sleepers sleepers;
  std::vector<Routine *> routines;  // of the workers

 private:
  Node &node_;
  std::vector<int> driven_;  // workers that drive a device
  u64 cores_ = 0;            // classes of the other workers
};

// The rate of tasks that share cores with those of other nodes.
class Rated {
 public:
  virtual Steps<> run(i64 ticks, Routine &routine) = 0;  // waits until *ticks* of work are done

 protected:
  ~Rated() = default;
};

// Part of a cluster's node besides its tasks, and its links to the other nodes
// (engine/machine/node.py).
class Membership {
 public:
  virtual void communicate(int task) = 0;  // takes a released communication task
  virtual void send_for(int task) const = 0;  // prefetches the data of a later one
  // Notifies it of each ended task, if received data land in pinned memory.
  virtual void ended(int task) = 0;
  virtual bool idle() const = 0;           // no event pending on any node, or between them
  virtual bool over() const = 0;           // all nodes have finished

  const Graph &visible;  // the workers' tasks, which the scheduler sees
  const std::span<const std::int32_t> order;  // all tasks with communication, as they are submitted
  const int first_ready;  // number of tasks without conditions or messages
  threads::Kernel &kernel;  // runs the threads of all nodes with threads
  Rated *const cores;     // shared cores of its workers; null: each has its own

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

inline constexpr int MAIN_MEMORY = 0;  // memory that messages are sent from and received in

// The workers of a platform under one scheduler (engine/machine/node.py).
class Node {
 public:
  // For a cluster's node, a *member*: its tasks come first, its communication tasks after them, and
  // estimates are those of its tasks.
  Node(const Graph &graph, const Platform &platform, const tasksim_question &question,
       Scheduler &scheduler, Clock &clock, Membership *member = nullptr);

  ~Node();

  void begin();

  // Throws Broken if the data of a taken task never came.
  void refuse_what_is_stuck() const;

  // A new routine without steps.
  std::unique_ptr<Routine> routine();

  int pop(Driver &driver);
  int take(int popped, int worker);  // checks and notes the scheduler's task
  Steps<> unlocked(int task);
  Steps<> finish(Driver &driver, int task);
  void finish_at_once(int worker, int task);
  Steps<> finish_communication(int task, Routine &routine);
  void leave(std::span<const Need> needs, Driver &driver);  // when its task has ended
  Steps<> push(int task, Routine &routine, int pusher, int released_by);
  void hand_over(int task, int released_by);  // for a communication task that was released just now
  void hear_end(int task);  // for received data, which it needs no more

  // Hints that data will not be used any more (engine/machine/hints.py).
  Steps<> say_hint(int hint);
  Steps<> hear_hint(int hint);    // counts one end; follows the hint after the last
  bool count_down_hint(int hint) { return !--hint_left_[hint]; }
  bool holds(int hint) const;  // no later task has written its datum already
  bool is_written(int handle) const;  // by a taken task (engine/machine/hints.py)
  std::vector<int> hinted(int task) const;  // hints that wait for its end, in order
  bool said_before(int hint, int task) const;  // whether *hint* precedes *task* in the submission

  // Prefetches, for the push or the end of *task*: its successors, then the counts that they wait
  // for.
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

  // The task at *place* in the submission.
  int submitted_at(int place) const { return member_ ? member_->order[place] : place; }

  const Graph &graph;
  const int own_tasks;  // tasks of workers; those of higher numbers are communication
  const Platform &platform;
  const tasksim_platform &overheads;
  const tasksim_question question;
  Scheduler &scheduler;
  Clock &clock;
  const bool several;  // whether there are several memories
  const bool blind;
  const bool heeds_hints;  // whether hints move data or take time
  const bool prompt;       // whether the end of a task has no waits
  const Instant instant;
  NodeView view;
  Ledger ledger;
  Release release;
  Charges charges;
  std::unique_ptr<Rate> rate;  // of tasks that slow each other down, if any do
  Requests all_requests;  // they outlive all references to them
  // The threads that run the workers instead of the node's own drivers, if any (engine/threads/).
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
  std::unique_ptr<Landing> landing;  // of a cluster's node, if it has a cost

 private:
  class Released;

  static constexpr int MAX_PREFETCHED_CLASSES = 8;  // most classes whose estimates are prefetched

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
  std::vector<double> fitting_estimates_;  // infinite if the data of a task do not fit
  // The waits of hints for a task are a ring; the life of the task has the last one.
  std::vector<std::int32_t> next_wait_, hint_of_wait_;
  std::vector<std::int32_t> hint_left_;  // per hint, the ends that it still waits for
  std::vector<std::int32_t> places_;  // of tasks in the submission, if not by number
};

// The routines of a node, each in the file of its name.
Steps<> core(Node &node, Driver &driver);
Steps<> keeper(Node &node, int memory);
Steps<> submission(Node &node, Routine &main);

// A driver's worker that fetches the data of one task while another runs.
class Device : public Awaiting {
 public:
  Device(Node &node, Driver &driver) : node_(node), driver_(driver) {}
  Steps<> steps();
  void happen(i64) override;  // the running kernel has ended

 private:
  Steps<bool> take_one();
  Steps<> launch(int task);
  Steps<> take_back();
  void queue(int task);
  void run(int task);

  Node &node_;
  Driver &driver_;
  std::deque<int> held_;    // popped and unfinished tasks, the oldest first
  std::deque<int> queued_;  // those of them whose kernels are queued or run
  i64 over_ = 0;            // number of the oldest that have ended on the device
};

}  // namespace tasksim
