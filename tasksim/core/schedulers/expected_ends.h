// Expected ends of the workers of a class, with fast access to the earliest
// (schedulers/expected_ends.py).
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "../problem.h"

namespace tasksim {

// A worker and its expected end.
struct End {
  double end;
  int worker;
};

// The expected ends of the workers of one class.
//
// Worker w has its expected end at max(start[w], now) + length[w]. The caller owns both vectors and
// calls changed() after a change.
class Ends {
 public:
  virtual ~Ends() = default;
  virtual void changed(int /*worker*/) {}
  // The earliest end: of equals, the worker of lowest number. Ends up to *limit* are equal, for a
  // task whose data arrive only then.
  virtual End earliest(double now, double limit = -INF) = 0;
  virtual double latest(double now) = 0;
  virtual double end_of(int worker, double now) const = 0;
};

// Makes the cheaper variant for *workers*, in ascending order.
std::unique_ptr<Ends> expected_ends(std::span<const int> workers, const std::vector<double> &start,
                                    const std::vector<double> &length);

}  // namespace tasksim
