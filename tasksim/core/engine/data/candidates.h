// Candidates: the data of one memory that eviction has passed, sorted by their order of leaving.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "whereabouts.h"

namespace tasksim {

// The rings of a store, in which data are linked in the order of use.
enum Ring : std::int8_t { OUT, RECENT, UNNEEDED };

// A store's record of a datum: half a cache line.
struct Kept {
  static constexpr i64 NO_PLACE = INT64_MIN;
  static constexpr std::int32_t NO_SORT = -1;

  i64 place = NO_PLACE;                  // place among the candidates; negative: not needed
  std::int32_t before = -1, after = -1;  // in its ring
  std::int32_t wanted = 0;    // tasks that it was fetched for and that have not taken it
  std::int32_t pinned = 0;    // current uses of it or of its place
  std::int32_t sort = NO_SORT;  // the heap that has an entry for it
  Ring ring = OUT;
};

// Data that eviction has passed, sorted by the reason why they may not leave now, so that no search
// passes them again. A change of the reason sorts a datum again (engine/data/store.py).
class Candidates {
 public:
  // A place in the order of leaving, and its datum.
  using Entry = std::pair<i64, int>;

  static constexpr i64 ONLY = -1;  // in place of a size: the datum is valid nowhere else

  Candidates(const std::vector<Whereabouts> &of, int memory, std::vector<Kept> &kept)
      : of_(of), kept_(kept), bit_(bit(memory)) {}

  bool has(int handle) const { return kept_[handle].place != Kept::NO_PLACE; }
  bool is_needed(int handle) const { return kept_[handle].place >= 0; }

  // Sorts *handle* after all others that are needed as much.
  void add(int handle, bool unneeded) {
    kept_[handle].place = unneeded ? count_ + UNNEEDED_OFFSET : count_;
    ++count_;
    ++sorted_;
    changed(handle);
  }

  // Forgets *handle*: it was used, or has left.
  void remove(int handle) {
    if (!has(handle)) return;
    kept_[handle].place = Kept::NO_PLACE;
    kept_[handle].sort = Kept::NO_SORT;
    --sorted_;
  }

  // Sorts *handle* again: it became free, wanted, or valid elsewhere, or stopped being so.
  void changed(int handle) {
    Kept &kept = kept_[handle];
    if (kept.pinned) return;
    const Whereabouts &where = of_[handle];
    const Sort sort{kept.wanted > 0, where.valid == bit_ ? ONLY : where.size};
    if (kept.sort >= 0 && heaps_[kept.sort].sort == sort) return;
    kept.sort = number_of(sort);
    auto &entries = heaps_[kept.sort].entries;
    if (entries.size() > MAX_HEAP_ENTRIES_PER_DATUM * sorted_) {
      std::erase_if(entries, [&](const Entry &entry) { return !counts(entry, kept.sort); });
      std::make_heap(entries.begin(), entries.end(), std::greater<>{});
    }
    entries.emplace_back(kept.place, handle);
    std::push_heap(entries.begin(), entries.end(), std::greater<>{});
  }

  // The first datum of *size* that may leave; for ONLY, the first that is valid only here.
  std::optional<Entry> first(i64 size, bool keep_wanted) {
    const auto free = first(Sort{false, size});
    if (keep_wanted) return free;
    const auto wanted = first(Sort{true, size});
    if (free && wanted) return std::min(*free, *wanted);
    return free ? free : wanted;
  }

  // The first datum that may leave and is valid elsewhere.
  std::optional<Entry> first_elsewhere(bool keep_wanted) {
    std::optional<Entry> best;
    for (std::int32_t number = 0; number < static_cast<std::int32_t>(heaps_.size()); ++number) {
      const auto [wanted, size] = heaps_[number].sort;
      if (size == ONLY || (keep_wanted && wanted)) continue;
      const auto found = first_of(number);
      if (found && (!best || *found < *best)) best = found;
    }
    return best;
  }

  // The first data valid nowhere else with *size* bytes or more in total.
  std::vector<int> only_copies(i64 size, bool keep_wanted) {
    std::vector<int> found;
    while (size > 0) {
      const auto entry = first(ONLY, keep_wanted);
      if (!entry) break;
      kept_[entry->second].sort = Kept::NO_SORT;  // the next one is then the first
      found.push_back(entry->second);
      size -= of_[entry->second].size;
    }
    for (const int handle : found) changed(handle);
    return found;
  }

 private:
  // Whether a datum is wanted, and its size if it is valid elsewhere.
  using Sort = std::pair<bool, i64>;

  struct Sorted {
    Sort sort;
    std::vector<Entry> entries;  // a heap, cleaned lazily
  };

  static constexpr i64 UNNEEDED_OFFSET = -(i64{1} << 60);  // the others count from 0
  // Entries of a heap per datum before it is cleaned.
  static constexpr std::size_t MAX_HEAP_ENTRIES_PER_DATUM = 4;

  // The number of the heap of *sort*.
  std::int32_t number_of(const Sort &sort) {
    const auto [found, added] = numbers_.try_emplace(sort, static_cast<int>(heaps_.size()));
    if (added) heaps_.push_back({sort, {}});
    return found->second;
  }

  std::optional<Entry> first(const Sort &sort) {
    const auto found = numbers_.find(sort);
    return found == numbers_.end() ? std::nullopt : first_of(found->second);
  }

  // The first valid entry of a heap; drops invalid ones before it.
  std::optional<Entry> first_of(std::int32_t number) {
    auto &entries = heaps_[number].entries;
    while (!entries.empty()) {
      if (counts(entries.front(), number)) return entries.front();
      std::pop_heap(entries.begin(), entries.end(), std::greater<>{});
      entries.pop_back();
    }
    return std::nullopt;
  }

  // Whether *entry* is valid in this heap; used data are sorted again when they are free.
  bool counts(const Entry &entry, std::int32_t number) {
    const auto [place, handle] = entry;
    Kept &kept = kept_[handle];
    if (kept.place != place || kept.sort != number) return false;
    if (!kept.pinned) return true;
    kept.sort = Kept::NO_SORT;
    return false;
  }

  const std::vector<Whereabouts> &of_;
  std::vector<Kept> &kept_;
  u64 bit_;
  i64 count_ = 0;
  std::size_t sorted_ = 0;
  std::vector<Sorted> heaps_;
  std::map<Sort, std::int32_t> numbers_;
};

}  // namespace tasksim
