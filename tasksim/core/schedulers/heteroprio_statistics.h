// Statistics that heteroprio learns while it runs, and the order of buckets that follows
// (schedulers/heteroprio_statistics.py).
#pragma once

#include <utility>
#include <vector>

#include "../problem.h"

namespace tasksim {

// Averages per bucket and architecture. Buckets are counted from the moment they are found.
class Statistics {
 public:
  using Buckets = std::vector<int>;
  using Released = std::vector<std::pair<int, double>>;  // buckets of successors, weighted

  struct Slowness {
    int fastest;                // the architecture
    std::vector<double> times;  // how many times slower each one is
  };

  // *able*: per bucket the architectures that can run its tasks.
  Statistics(std::vector<std::vector<int>> able, int architectures);

  // Counts *bucket* from now on; whether it was not known.
  bool find(int bucket);
  // Starts from *duration* seconds, as if earlier runs had measured it often enough.
  void know(int bucket, int architecture, double duration);
  // A task was pushed.
  void pushed(int bucket, const Released &released);
  // A task ran for *duration* seconds.
  void executed(int bucket, int architecture, double duration);
  Slowness slowness(int bucket) const;
  // The buckets per architecture, those to be taken first at the front.
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
