// Network: copies in progress share the links, weighted max-min fair, as in SimGrid.
#pragma once

#include <deque>
#include <unordered_map>
#include <vector>

#include "../clock.h"

namespace tasksim {

struct Copy;

// The links of a platform, and the flows on them (engine/data/network.py).
class Network : public Awaiting {
 public:
  using Done = void (*)(void *who, Copy &copy);

  Network(Clock &clock, const Platform &platform, Done done, void *who);

  // Whether copies from *source* to *target* slow each other down.
  bool shares(int source, int target) const;

  // Copies *size* bytes from memory *source* to *target*, then notifies.
  void send(int source, int target, i64 size, Copy &copy);

  void happen(i64 settled) override;  // the flow with the first end has ended

 private:
  struct Flow : Awaiting {
    void happen(i64) override { network->enter(*this); }  // after the latency of its path
    int path;
    double remaining, rate;  // bytes, and bytes per tick
    Copy *copy;
    Network *network;
  };
  struct Hash {
    std::size_t operator()(const std::vector<int> &paths) const;
  };

  Flow &new_flow();
  void enter(Flow &flow);
  void advance();
  void settle();
  std::vector<double> fair_rates(const std::vector<int> &paths) const;

  // Most combinations of flows whose rates are kept, as in Python.
  static constexpr std::size_t MAX_KNOWN_COMBINATIONS = 20'000;

  Clock &clock_;
  const tasksim_platform &given_;
  int memories_, links_;
  const std::int32_t *path_of_;
  Done done_;
  void *who_;
  std::deque<Flow> all_;
  std::vector<Flow *> free_;
  std::vector<Flow *> flows_;
  std::vector<Flow *> ended_;  // those of this instant
  i64 since_ = 0, settled_ = 0;
  std::unordered_map<std::vector<int>, std::vector<double>, Hash> known_;
  std::vector<int> combination_;
};

}  // namespace tasksim
