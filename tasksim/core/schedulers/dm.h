// dm: each task goes to the worker that is expected to end it first (schedulers/dm.py).
#pragma once

#include <bit>

#include "expected_ends.h"
#include "scheduler.h"
#include "tasklists.h"

namespace tasksim {

class DequeModel : public Scheduler {
 public:
  explicit DequeModel(const Options &options, bool by_priority = false)
      : prefetch_(options.flag("prefetch")), by_priority_(by_priority) {}

  void attach(View &given) override;
  Choice choose(int task) override;
  void commit(int task, const Choice &choice) override;
  int pop(int worker) override;
  void started(int task, int worker) override;
  void finished(int task, int worker) override;

 protected:
  // A class of workers in a decision.
  struct WorkerGroup {
    std::unique_ptr<Ends> ends;
    const double *estimates;
    int memory;
    std::span<const int> workers;
  };

  virtual std::unique_ptr<TaskList> new_queue(int worker);
  virtual std::unique_ptr<Ends> new_ends(std::span<const int> workers);
  // Number of tasks of the queue that go before *task*.
  virtual i64 ahead(int worker, int task, i64 queued) const;

  void handed_out(int task, int worker);
  Choice greedy(int task) const;

  // Calls *look* with each class whose workers can run *task*, until it returns false.
  template <class Look>
  void for_each_group(int task, Look look) const {
    for (u64 able = view->able[task]; able; able &= able - 1)
      if (!look(groups_[std::countr_zero(able)])) return;
  }

  // The number of a class, as in for_each_group.
  int number_of(const WorkerGroup &group) const {
    return static_cast<int>(&group - groups_.data());
  }

  std::vector<std::unique_ptr<TaskList>> queues_;
  std::vector<double> exp_start_, exp_len_, pipeline_len_;  // per worker

 private:
  struct Predicted {
    double length = 0.0, transfer = 0.0;
  };

  double load(int worker, int task) const;
  std::vector<Estimate> estimates(int task) const;
  void send_for(int task) const;
  void changed(int worker) { groups_[view->platform.class_of[worker]].ends->changed(worker); }

  bool prefetch_, by_priority_;
  std::vector<WorkerGroup> groups_;
  std::vector<i64> unstarted_, held_;                   // per worker
  std::vector<Predicted> predicted_;    // per task
};

}  // namespace tasksim
