// Reuse distances of data, in the order in which tasks start (graph/reuse.py).
#pragma once

#include <vector>

#include "../problem.h"

namespace tasksim {

// Bytes that were accessed through each of some caches since the last access to each datum there.
// When a task writes a datum, all other caches lose it.
class ReuseTracker {
 public:
  // The graph must outlive it.
  ReuseTracker(const Graph &graph, int caches)
      : graph_(graph), caches_(caches), accessed_(caches, 0.0),
        last_(i64{caches} * graph.handles, -INF) {}

  double distance(int handle, int cache) const {
    return accessed_[cache] - last_[i64{cache} * graph_.handles + handle];
  }

  bool writes(i64 access) const { return graph_.access_mode[access] != R; }

  // The bytes of an access; scratch memory, private to a task, has none.
  double bytes(i64 access) const {
    if (!is_use(access)) return 0.0;
    return static_cast<double>(graph_.size[graph_.access_handle[access]]);
  }

  // Starts *task* on a worker of *cache*.
  void use(int task, int cache) {
    const i64 first = graph_.access_ptr[task], end = graph_.access_ptr[task + 1];
    for (i64 k = first; k < end; ++k) accessed_[cache] += bytes(k);
    for (i64 k = first; k < end; ++k) {
      if (!is_use(k)) continue;
      const int handle = graph_.access_handle[k];
      last_[i64{cache} * graph_.handles + handle] = accessed_[cache];
      if (caches_ == 1 || !writes(k)) continue;
      for (int other = 0; other < caches_; ++other)
        if (other != cache) last_[i64{other} * graph_.handles + handle] = -INF;
    }
  }

 private:
  static constexpr std::int8_t R = 1, SCRATCH = 6;

  bool is_use(i64 access) const { return graph_.access_mode[access] != SCRATCH; }

  const Graph &graph_;
  const int caches_;
  std::vector<double> accessed_;  // per cache, bytes
  std::vector<double> last_;      // caches x handles, bytes accessed there up to the last access
};

}  // namespace tasksim
