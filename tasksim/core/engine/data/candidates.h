// Candidates: the data of one memory at which eviction has looked, sorted by what may leave.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "../../problem.h"

namespace tasksim {

// What eviction has passed, sorted by why it may not leave now, so that no search passes it again; a
// change of the reason sorts it anew (engine/data/candidates.py).
class Candidates {
 public:
  // A place in the order of leaving, and the datum that has it.
  using Entry = std::pair<i64, int>;

  static constexpr i64 ONLY = -1;  // instead of a size: the datum is valid nowhere else

  Candidates(std::span<const i64> sizes, const std::vector<u64> &valid, u64 bit,
             const std::vector<std::int32_t> &pinned, const std::vector<std::int32_t> &wanted)
      : sizes_(sizes),
        valid_(valid),
        bit_(bit),
        pinned_(pinned),
        wanted_(wanted),
        places_(sizes.size(), NO_PLACE),
        sort_(sizes.size(), NO_SORT) {}

  bool has(int handle) const { return places_[handle] != NO_PLACE; }
  bool is_needed(int handle) const { return places_[handle] >= 0; }

  // Sorts *handle*, which comes after all others that are needed as much as it.
  void add(int handle, bool unneeded) {
    places_[handle] = unneeded ? count_ + UNNEEDED : count_;
    ++count_;
    ++sorted_;
    changed(handle);
  }

  // Forgets *handle*: it was used, or has left.
  void remove(int handle) {
    if (!has(handle)) return;
    places_[handle] = NO_PLACE;
    sort_[handle] = NO_SORT;
    --sorted_;
  }

  // Sorts *handle* anew: it is free again, or wanted, or valid elsewhere, or not any more.
  void changed(int handle) {
    if (pinned_[handle]) return;
    const i64 size = valid_[handle] == bit_ ? ONLY : sizes_[handle];
    const Sort sort{wanted_[handle] > 0, size};
    if (sort_[handle] == sort) return;
    sort_[handle] = sort;
    auto &heap = heaps_[sort];
    if (heap.size() > MANY * sorted_) {
      std::erase_if(heap, [&](const Entry &entry) { return !counts(entry, sort); });
      std::make_heap(heap.begin(), heap.end(), std::greater<>{});
    }
    heap.emplace_back(places_[handle], handle);
    std::push_heap(heap.begin(), heap.end(), std::greater<>{});
  }

  // The first that may leave of *size*; if that is ONLY, valid only here.
  std::optional<Entry> first(i64 size, bool keep_wanted) {
    const auto free = first(Sort{false, size});
    if (keep_wanted) return free;
    const auto wanted = first(Sort{true, size});
    if (free && wanted) return std::min(*free, *wanted);
    return free ? free : wanted;
  }

  // The first of all that may leave and are valid elsewhere.
  std::optional<Entry> first_elsewhere(bool keep_wanted) {
    std::optional<Entry> best;
    for (auto &[sort, heap] : heaps_) {
      if (sort.second == ONLY || (keep_wanted && sort.first)) continue;
      const auto found = first(sort);
      if (found && (!best || *found < *best)) best = found;
    }
    return best;
  }

  // The first data valid nowhere else that together have at least *size* bytes.
  std::vector<int> only_copies(i64 size, bool keep_wanted) {
    std::vector<int> found;
    while (size > 0) {
      const auto entry = first(ONLY, keep_wanted);
      if (!entry) break;
      sort_[entry->second] = NO_SORT;  // so that the next one is the first
      found.push_back(entry->second);
      size -= sizes_[entry->second];
    }
    for (const int handle : found) changed(handle);
    return found;
  }

 private:
  // Whether a datum is wanted, and its size if it is valid elsewhere.
  using Sort = std::pair<bool, i64>;

  static constexpr i64 NO_PLACE = INT64_MIN;
  static constexpr i64 UNNEEDED = -(i64{1} << 60);  // those come before the others, from 0
  static constexpr Sort NO_SORT{false, -2};
  static constexpr std::size_t MANY = 4;  // entries of a heap per datum, before it is cleaned

  // The first entry of *sort* that counts; drops those before it.
  std::optional<Entry> first(const Sort &sort) {
    const auto found = heaps_.find(sort);
    if (found == heaps_.end()) return std::nullopt;
    auto &heap = found->second;
    while (!heap.empty()) {
      if (counts(heap.front(), sort)) return heap.front();
      std::pop_heap(heap.begin(), heap.end(), std::greater<>{});
      heap.pop_back();
    }
    return std::nullopt;
  }

  // Whether *entry* is of this sort; what is used is sorted anew when it is free.
  bool counts(const Entry &entry, const Sort &sort) {
    const auto [place, handle] = entry;
    if (places_[handle] != place || sort_[handle] != sort) return false;
    if (!pinned_[handle]) return true;
    sort_[handle] = NO_SORT;
    return false;
  }

  std::span<const i64> sizes_;
  const std::vector<u64> &valid_;
  u64 bit_;
  const std::vector<std::int32_t> &pinned_, &wanted_;
  std::vector<i64> places_;  // per datum that is sorted, its place; negative: not needed
  i64 count_ = 0;
  std::size_t sorted_ = 0;
  std::map<Sort, std::vector<Entry>> heaps_;  // cleaned lazily
  std::vector<Sort> sort_;                    // in whose heap each datum has an entry
};

}  // namespace tasksim
