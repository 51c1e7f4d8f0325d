// random: each task goes to a worker drawn at random, in proportion to its speed
// (schedulers/weighted_random.py).
#include <algorithm>

#include "line.h"
#include "scheduler.h"

namespace tasksim {

namespace {

class Random : public Scheduler {
 public:
  explicit Random(const Options &options) : rng_(options.twister()) {}

  void attach(View &given) override {
    Scheduler::attach(given);
    queues_.resize(given.workers());
  }

  void push(int task) override {
    const Odds &odds = able_workers(view->able[task]);
    const double drawn = rng_.random() * odds.cumulated.back();
    const auto reached = std::ranges::lower_bound(odds.cumulated, drawn);
    const int chosen = odds.workers[reached - odds.cumulated.begin()];
    queues_[chosen].push_back(task);
    if (auto *log = view->decisions.get()) {
      log->decided(task, chosen);
      log->queued(task, chosen);
    }
    view->wake(chosen);
  }

  int pop(int worker) override {
    auto &queue = queues_[worker];
    return queue.empty() ? NONE : queue.pop_front();
  }

 private:
  struct Odds {
    u64 able;
    std::vector<int> workers;
    std::vector<double> cumulated;
  };

  const Odds &able_workers(u64 able) {
    for (const Odds &known : odds_)
      if (known.able == able) return known;
    Odds odds{able, {}, {}};
    double total = 0.0;
    for (int worker = 0; worker < view->workers(); ++worker)
      if (able >> view->platform.class_of[worker] & 1) {
        odds.workers.push_back(worker);
        odds.cumulated.push_back(total += view->platform.nominal_speed[worker]);
      }
    return odds_.emplace_back(std::move(odds));
  }

  Twister rng_;
  std::vector<Line<int>> queues_;
  std::vector<Odds> odds_;
};

const Register random("random",
                      [](const Options &options) { return std::make_unique<Random>(options); });

}  // namespace

}  // namespace tasksim
