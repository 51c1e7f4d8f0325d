// Statistics that heteroprio learns during the run, and the resulting order of buckets
// (schedulers/heteroprio_statistics.py).
#pragma once

#include <utility>
#include <vector>

#include "../problem.h"

namespace tasksim {

// Averages per bucket and architecture. A bucket counts from its first task on.
class Statistics {
 public:
  using Buckets = std::vector<int>;
  using Released = std::vector<std::pair<int, double>>;  // buckets of successors, weighted

  struct Slowness {
    int fastest;                // the architecture
    std::vector<double> times;  // slowdown of each architecture
  };

  // *able*: per bucket the architectures that can run its tasks.
  Statistics(std::vector<std::vector<int>> able, int architectures);

  // Counts *bucket* from now on; returns whether it was new.
  bool find(int bucket);
  // Starts from *duration* seconds, as if earlier runs had measured it often enough.
  void know(int bucket, int architecture, double duration);
  // Notes that a task was pushed.
  void pushed(int bucket, const Released &released);
  // Notes that a task ran for *duration* seconds.
  void executed(int bucket, int architecture, double duration);
  Slowness slowness(int bucket) const;
  // The buckets per architecture, the first to take from at the front.
  std::vector<Buckets> orders() const;

 private:
  using Averages = std::vector<std::vector<double>>;  // per bucket and architecture

  double score(int bucket, int own, double unit) const;
  double urt(int bucket, int architecture) const;
  double best_time(int bucket) const;
  double unit() const;
  void submit(int bucket);

  std::vector<std::vector<int>> able_;
  int architectures_;
  Buckets found_;
  std::vector<bool> known_;
  Averages time_;
  std::vector<std::vector<int>> timed_;
  std::vector<double> best_, share_;
  std::vector<int> shared_;
  i64 total_ = 0;
  Averages place_;
  std::vector<int> placed_;
  Averages released_;
  std::vector<int> releases_;
};

}  // namespace tasksim
