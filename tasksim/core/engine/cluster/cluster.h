// Cluster: its replay, wired from a clock, a network, and per node workers and a thread
// (engine/cluster/cluster.py).
#pragma once

#include "../replay.h"
#include "../threads/kernel.h"
#include "communicator.h"
#include "sharing.h"

namespace tasksim::cluster {

class ClusterReplay : public Replay {
 public:
  explicit ClusterReplay(const tasksim_cluster &given);  // throws BadArrays

  void begin() override;
  bool go_on(i64 events) override;
  void end() override;

  // Results of a node; without a number, of the first one.
  Node &node(i64 number) const { return members_.at(number)->node; }
  View &view() override { return node(0).view; }
  const Ledger &ledger() const override { return node(0).ledger; }
  double units_per_s() const override { return 1e9; }
  double now_s() const override { return static_cast<double>(clock_.now) * 1e-9; }
  i64 events() const override { return clock_.events + kernel_.calls; }
  const Office &office() const { return office_; }

 private:
  struct Member : Membership {
    Member(ClusterReplay &cluster, int number, const tasksim_member &given,
           std::unique_ptr<Scheduler> own);
    void communicate(int task) override { communicator.take(task); }
    void send_for(int task) const override { communicator.send_for(task); }
    void ended(int task) override { communicator.hear_end(task); }
    bool idle() const override { return cluster.idle(); }
    bool over() const override { return cluster.over(); }
    bool busy() const;

    ClusterReplay &cluster;
    std::unique_ptr<Scheduler> scheduler;
    Communicator &communicator;
    Node node;
    std::unique_ptr<Routine> main;
  };

  void check_ways() const;
  void make_ways();
  void make_messages();
  void make_members();
  bool idle() const;
  bool over() const;
  i64 done() const;

  const tasksim_cluster given_;
  Clock clock_;
  threads::Kernel kernel_{clock_};
  std::vector<Use> uses_;
  std::vector<Way> ways_;
  std::vector<i64> envelopes_;  // duration per way, in ticks
  Office office_;
  std::unique_ptr<SharedCores> cores_;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace tasksim::cluster
