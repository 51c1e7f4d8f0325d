// dmda and its relatives: expected ends, with the cost of data transfers (schedulers/dm.py).
#include <algorithm>

#include <optional>

#include "dm.h"
#include "ends_ahead.h"
#include "energy.h"

namespace tasksim {

namespace {

class DataAware : public DequeModel {
 public:
  DataAware(const Options &options, Order order)
      : DequeModel(options, order.by_priority),
        order_(order),
        options_(options),
        alpha_(options.number("alpha")),
        beta_(options.number("beta")) {}

  void attach(View &given) override {
    energy_.emplace(options_, given.platform, given.graph);
    DequeModel::attach(given);
  }

  Choice choose(int task) override {
    const double now = view->now();
    const double latest = energy_->idle != 0.0 ? latest_end(task, now) : INF;
    const int kernel = view->graph.kernel[task];
    bool known = true;
    candidates_.clear();
    for_each_group(task, [&](const WorkerGroup &group) {
      const double length = group.estimates[task];
      known = length > 0.0;
      if (!known) return false;
      const double transfer = view->transfer_estimate(task, group.memory);
      const double arrival = now + transfer;
      // Without alpha, all ends up to the latest are equally good.
      const double limit = alpha_ != 0.0 ? arrival : std::max(arrival, latest - length);
      auto [end, worker] = group.ends->earliest(now, limit);
      if (end < arrival) end = arrival;
      const double charge = energy_->charge(number_of(group), kernel, length);
      candidates_.push_back({end + length, transfer, worker, length, charge});
      return true;
    });
    if (!known) return greedy(task);
    const Choice choice = fittest(latest);
    if (view->decisions)
      view->decisions->decided(task, choice.worker, estimates(task, now, latest));
    return choice;
  }

 protected:
  std::unique_ptr<TaskList> new_queue(int worker) override {
    const ReadyFirst where = ready_first(worker);
    if (order_.by_priority) return std::make_unique<SortedTasks>(view->graph.ranks(), where);
    return std::make_unique<PushOrder>(where);
  }

  // The memory in which *worker*'s queue looks for the data of its tasks, if it does.
  ReadyFirst ready_first(int worker) const {
    if (!order_.ready_first) return {};
    return {view, view->platform.memory_of[worker]};
  }

 private:
  struct Candidate {
    double end, transfer;
    int worker;
    double length, charge;
  };

  // The latest expected end of the able workers.
  double latest_end(int task, double now) const {
    double latest = -INF;
    for_each_group(task, [&](const WorkerGroup &group) {
      latest = std::max(latest, group.ends->latest(now));
      return true;
    });
    return latest;
  }

  // The candidate of lowest fitness.
  Choice fittest(double latest) const {
    const double idle = energy_->idle;
    double least = candidates_[0].end;
    for (const Candidate &candidate : candidates_) least = std::min(least, candidate.end);
    const Candidate *best = nullptr;
    double best_fitness = INF;
    for (const Candidate &candidate : candidates_) {
      double fitness = alpha_ * (candidate.end - least) + beta_ * candidate.transfer + candidate.charge;
      if (idle != 0.0 && candidate.end > latest) fitness += idle * (candidate.end - latest);
      if (!best || fitness < best_fitness ||
          (fitness == best_fitness && candidate.worker < best->worker)) {
        best = &candidate;
        best_fitness = fitness;
      }
    }
    return {best->worker, best->length, best->transfer};
  }

  // The terms of *task* on each able worker, for the record of decisions.
  std::vector<Estimate> estimates(int task, double now, double latest) const {
    std::vector<Estimate> found;
    double least = candidates_[0].end;
    for (const Candidate &candidate : candidates_) least = std::min(least, candidate.end);
    auto candidate = candidates_.begin();
    for_each_group(task, [&](const WorkerGroup &group) {
      const auto &[_, transfer, best, length, charge] = *candidate++;
      for (const int worker : group.workers) {
        const double free = group.ends->end_of(worker, now);
        const double end = std::max(free, now + transfer) + length;
        double cost = alpha_ * (end - least) + beta_ * transfer + charge, energy = charge;
        if (energy_->idle != 0.0 && end > latest) {
          cost += energy_->idle * (end - latest);
          energy += energy_->idle * (end - latest);
        }
        found.push_back({worker, free, transfer, length, energy, end, cost});
      }
      return true;
    });
    return found;
  }

  Order order_;
  Options options_;
  double alpha_, beta_;
  std::optional<EnergyWeights> energy_;
  std::vector<Candidate> candidates_;
};

// The same as dmdas, but a decision only counts the tasks that would run before the task.
class DataAwareSortedDecision : public DataAware {
 public:
  explicit DataAwareSortedDecision(const Options &options)
      : DataAware(options, {.by_priority = true, .ready_first = true}) {}

  void attach(View &given) override {
    const i64 all = i64{given.platform.classes} * given.graph.tasks;
    counts_ = std::any_of(given.estimates, given.estimates + all,
                          [](double length) { return !(length > 0.0); });
    DataAware::attach(given);
  }

  Choice choose(int task) override {
    for (EndsAhead *ends : ahead_of_) ends->rank = view->graph.ranks().of[task];
    return DataAware::choose(task);
  }

 protected:
  std::unique_ptr<TaskList> new_queue(int worker) override {
    const int group = view->platform.class_of[worker];
    const double *lengths = view->estimates + static_cast<i64>(group) * view->graph.tasks;
    auto queue = std::make_unique<WeighedTasks>(view->graph.ranks(), lengths, counts_, ready_first(worker));
    sorted_.push_back(queue.get());
    return queue;
  }

  std::unique_ptr<Ends> new_ends(std::span<const int> workers) override {
    auto ends = std::make_unique<EndsAhead>(workers, exp_start_, exp_len_, pipeline_len_, sorted_);
    ahead_of_.push_back(ends.get());
    return ends;
  }

  i64 ahead(int worker, int task, i64 queued) const override {
    const int count = sorted_[worker]->count_ahead(view->graph.ranks().of[task]);
    return count == NONE ? queued : count;
  }

 private:
  bool counts_ = false;  // unknown durations: queues count tasks instead
  std::vector<EndsAhead *> ahead_of_;   // all classes' ends
  std::vector<WeighedTasks *> sorted_;  // the queues, per worker
};

Maker in(Order order) {
  return [order](const Options &options) { return std::make_unique<DataAware>(options, order); };
}

const Register dmda("dmda", in({}));
const Register dmdap("dmdap", in({.by_priority = true}));
const Register dmdar("dmdar", in({.ready_first = true}));
const Register dmdas("dmdas", in({.by_priority = true, .ready_first = true}));
const Register dmdasd("dmdasd", [](const Options &options) {
  return std::make_unique<DataAwareSortedDecision>(options);
});

}  // namespace

}  // namespace tasksim
