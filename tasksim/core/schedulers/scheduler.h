// Scheduler: the interface of a policy, and its view of a run.
//
// The same words as in schedulers/base.py: tasks are pushed when ready, workers pop them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "../problem.h"
#include "decisions.h"
#include "twister.h"

namespace tasksim {

inline constexpr int NONE = -1;  // no task, no worker

// Data of a task that a memory lacks: missing bytes, those of them not on their way, and bytes
// without a place. Compared in this order.
struct Lacks {
  i64 missing = 0, absent = 0, unplaced = 0;
  auto operator<=>(const Lacks &) const = default;
};

// Tasks, with fast access to the one that lacks least in a memory, as data come and go.
class Readiness {
 public:
  virtual ~Readiness() = default;
  virtual std::size_t size() const = 0;
  virtual void add(int task) = 0;        // behind the others
  virtual void add_first(int task) = 0;  // in front of them
  virtual int take() = 0;  // removes the task that lacks least; of equals, the first
  virtual std::vector<int> tasks() const = 0;  // in order
};

// A scheduler's view of a run, simulated or native, and its requests to it.
class View {
 public:
  View(const Graph &graph, const Platform &platform) : graph(graph), platform(platform) {}
  virtual ~View() = default;

  virtual double now() const = 0;  // seconds
  virtual bool sleeping(int worker) const = 0;
  virtual void wake(int worker) = 0;
  virtual void wake_any_of(u64 classes) = 0;  // of the classes in the mask
  virtual void wake_all_of(u64 classes) = 0;
  virtual double transfer_estimate(int /*task*/, int /*memory*/) { return 0.0; }
  virtual Lacks unready(int /*task*/, int /*memory*/) { return {}; }
  virtual bool holds(int /*handle*/, int /*memory*/) { return true; }  // or it is on its way
  // An object that orders tasks by unready() in *memory*; null: the view has none.
  virtual std::unique_ptr<Readiness> readiness(int /*memory*/) { return nullptr; }
  virtual double copy_estimate(double /*bytes*/, int /*source*/, int /*target*/) { return 0.0; }
  virtual void prefetch(int /*task*/, int /*memory*/) {}
  virtual void soon(int /*task*/) {}  // prefetches a likely next task; not in Python
  virtual void prefetch_handle(int /*handle*/, int /*memory*/) {}

  void wake_any(int task) { wake_any_of(able[task]); }
  void wake_all(int task) { wake_all_of(able[task]); }
  double estimate_of_class(int task, int group) const {
    return estimates[static_cast<i64>(group) * graph.tasks + task];
  }
  double estimate(int task, int worker) const {
    return estimate_of_class(task, platform.class_of[worker]);
  }
  bool can_run(int task, int worker) const { return able[task] >> platform.class_of[worker] & 1; }
  int workers() const { return platform.workers; }

  const Graph &graph;
  const Platform &platform;
  const double *estimates = nullptr;  // classes x tasks
  std::vector<u64> able;              // per task, a mask of its classes, at least one
  int first_ready = NONE;  // number of tasks without conditions; NONE: the graph's
  int pusher = NONE;  // worker whose task released the pushed one; NONE: submission
  std::unique_ptr<Decisions> decisions;  // the record of the scheduler; null: not asked for
};

// A choice for a task, made before it is committed.
struct Choice {
  int worker = NONE;
  double length = 0.0, transfer = 0.0;
};

class Scheduler {
 public:
  virtual ~Scheduler() = default;

  virtual void attach(View &given) { view = &given; }
  virtual void push(int task) { commit(task, choose(task)); }
  virtual Choice choose(int /*task*/) { return {}; }
  virtual void commit(int /*task*/, const Choice & /*choice*/) {}
  virtual int pop(int worker) = 0;  // the next task for *worker*, or NONE
  virtual void started(int /*task*/, int /*worker*/) {}
  virtual void finished(int /*task*/, int /*worker*/) {}

 protected:
  View *view = nullptr;
};

// The options of a policy, by name; throws BadArrays for a missing one.
class Options {
 public:
  explicit Options(const tasksim_scheduler &given);

  double number(const std::string &name) const;
  i64 count(const std::string &name) const;  // throws BadArrays if it is no count
  bool flag(const std::string &name) const { return number(name) != 0.0; }
  std::span<const i64> table(const std::string &name) const;
  Twister twister() const;  // Python's random numbers

 private:
  std::map<std::string, double> numbers_;
  std::map<std::string, std::span<const i64>> tables_;
  const std::uint32_t *twister_;
  std::uint64_t seed_;
};

// Policies by name: each file has a line `static const Register name("name", make);`.
using Maker = std::function<std::unique_ptr<Scheduler>(const Options &)>;

struct Register {
  Register(const std::string &name, Maker maker);
};

std::unique_ptr<Scheduler> make_scheduler(const tasksim_scheduler &given);  // null: no such policy

}  // namespace tasksim
