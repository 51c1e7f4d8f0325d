// Expected ends of the work of a class of workers, the earliest at hand
// (schedulers/expected_ends.py).
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "../problem.h"

namespace tasksim {

// A worker, and when it is expected to end what it has.
struct End {
  double end;
  int worker;
};

// The expected end of the work of each worker of one class.
//
// Worker w is expected to end what it has at max(start[w], now) + length[w]. Both vectors belong
// to the caller, who calls changed() after a change.
class Ends {
 public:
  virtual ~Ends() = default;
  virtual void changed(int /*worker*/) {}
  // The earliest: of equals, the worker of lowest number. Ends up to *limit* are equal: to a task
  // whose data arrive only then.
  virtual End earliest(double now, double limit = -INF) = 0;
  virtual double latest(double now) = 0;
};

// Of *workers*, in ascending order, kept in the cheaper way.
std::unique_ptr<Ends> expected_ends(std::span<const int> workers, const std::vector<double> &start,
                                    const std::vector<double> &length);

}  // namespace tasksim
