// Machine with devices: its replay, wired from a clock, a node and a submission.
#include "../replay.h"
#include "../threads/threads.h"
#include "node.h"

namespace tasksim {

namespace {

class MachineReplay : public Replay {
 public:
  MachineReplay(const Graph &graph, const Platform &platform, const tasksim_question &question,
                Scheduler &scheduler)
      : node_(graph, platform, question, scheduler, clock_), main_(node_.routine()) {}

  void begin() override {
    node_.begin();
    main_->begin(submission(node_, *main_));
  }

  bool go_on(i64 events) override {
    return node_.threads ? node_.threads->run(events) : clock_.run(events);
  }

  void end() override {
    if (node_.ledger.over()) return;
    node_.refuse_what_is_stuck();
    throw Broken{TASKSIM_DROPPED};
  }

  View &view() override { return node_.view; }
  const Ledger &ledger() const override { return node_.ledger; }
  double units_per_s() const override { return 1e9; }
  double now_s() const override { return node_.view.now(); }
  i64 events() const override {
    return clock_.events + (node_.threads ? node_.threads->kernel.calls : 0);
  }
  i64 evictions() const override { return node_.copies.evictions; }
  CopyLog *log() override { return node_.several ? &node_.log : nullptr; }
  void write_numa(double *accessed_bytes, double *extra_s) const override {
    if (node_.rate) node_.rate->write(accessed_bytes, extra_s);
  }

 private:
  Clock clock_;
  Node node_;
  std::unique_ptr<Routine> main_;
};

}  // namespace

std::unique_ptr<Replay> machine_replay(const Graph &graph, const Platform &platform,
                                       const tasksim_question &question, Scheduler &scheduler) {
  return std::make_unique<MachineReplay>(graph, platform, question, scheduler);
}

}  // namespace tasksim
