#include "numa.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tasksim {

Homes::Homes(const Slowing &slowing, const Graph &graph)
    : accessed_bytes(i64{slowing.domains} * slowing.domains, 0.0),
      distances_(slowing.distances),
      graph_(graph),
      domains_(slowing.domains),
      home_(graph.handles, NO_HOME),
      room_(distances_.room.begin(), distances_.room.end()),
      nearest_(domains_) {
  if (distances_.cache_bytes > 0.0) caches_.emplace(graph, domains_);
  for (int domain = 0; domain < domains_; ++domain) {
    std::vector<int> &found = nearest_[domain];
    found.resize(domains_);
    std::iota(found.begin(), found.end(), 0);
    std::swap(found[0], found[domain]);
    std::sort(found.begin() + 1, found.end());
    const auto ratio = distances_.ratio.subspan(std::size_t(domain) * domains_, domains_);
    std::stable_sort(found.begin() + 1, found.end(),
                     [&](int one, int other) { return ratio[one] < ratio[other]; });
  }
}

void Homes::touch(int task, int domain, std::span<double> shares) {
  std::fill(shares.begin(), shares.end(), 0.0);
  double total = 0.0;
  for (i64 k = graph_.access_ptr[task]; k < graph_.access_ptr[task + 1]; ++k) {
    if (graph_.access_mode[k] == SCRATCH) continue;
    const int handle = graph_.access_handle[k];
    const auto size = static_cast<double>(graph_.size[handle]);
    total += size;
    if (home_[handle] == NO_HOME) home_[handle] = place(size, domain);
    const int home = home_[handle];
    if (home == domain || cached(handle, domain)) {
      shares[domain] += size;
    } else if (home == OVER_ALL) {
      for (double &share : shares) share += size / domains_;
    } else {
      shares[home] += size;
    }
  }
  if (caches_) caches_->use(task, domain);
  for (int home = 0; home < domains_; ++home)
    accessed_bytes[i64{domain} * domains_ + home] += shares[home];
  if (total == 0.0) {
    shares[domain] = 1.0;
    return;
  }
  for (double &share : shares) share /= total;
}

// The home of a datum that a task in *domain* accesses first: what the placement names or, if that
// is full, the nearest domain with room; if there is none, the first choice after all.
int Homes::place(double size, int domain) {
  if (distances_.placement == Distances::OVER_ALL) return OVER_ALL;
  const int wanted =
      distances_.placement == Distances::BY_TOUCH ? domain : static_cast<int>(distances_.placement);
  for (const int home : nearest_[wanted]) {
    if (size > room_[home]) continue;
    room_[home] -= size;
    return home;
  }
  return wanted;
}

bool Homes::cached(int handle, int domain) const {
  return caches_ && caches_->distance(handle, domain) <= distances_.cache_bytes;
}

}  // namespace tasksim
