// Log of copies and of the use of memory: what a replay notes of them, in the columns of its tables.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "requests.h"

namespace tasksim {

// Values that are only added to, for whoever reads them in the end: nothing is copied then. They are
// more than all else that a large replay keeps, and memory that was never touched must be made empty
// by the system first; so they grow by realloc, which moves pages, not values, where they are many.
template <class Value>
class Column {
  static_assert(std::is_trivially_copyable_v<Value>);

 public:
  Column() = default;
  Column(Column &&other) noexcept
      : values_(std::exchange(other.values_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        room_(std::exchange(other.room_, 0)) {}
  ~Column() { std::free(values_); }

  void add(Value value) {
    if (size_ == room_) grow();
    values_[size_++] = value;
  }

  i64 size() const { return size_; }
  Value *data() const { return values_; }
  std::span<const Value> values() const { return {values_, static_cast<std::size_t>(size_)}; }

 private:
  static constexpr i64 FEW = 64;  // for a start: most replays that are made by the thousand are short

  void grow() {
    const i64 room = std::max(FEW, 2 * room_);
    void *moved = std::realloc(values_, static_cast<std::size_t>(room) * sizeof(Value));
    if (!moved) throw std::bad_alloc();
    values_ = static_cast<Value *>(moved);
    room_ = room;
  }

  Value *values_ = nullptr;
  i64 size_ = 0, room_ = 0;
};

struct CopyLog {
  // *request* was copied from *start* to *end*.
  void copied(const Request &request, i64 start, i64 end) {
    handle.add(request.handle);
    source.add(static_cast<std::int16_t>(request.source));
    target.add(static_cast<std::int16_t>(request.target));
    requested_s.add(seconds(request.asked));
    start_s.add(seconds(start));
    end_s.add(seconds(end));
    reason.add(static_cast<std::int8_t>(request.reason));
    task.add(request.task);
  }
  void changed(int where, i64 used, i64 now) {
    time_s.add(seconds(now));
    memory.add(static_cast<std::int16_t>(where));
    used_bytes.add(used);
  }

  // How many there are: of rows that are whole, should memory not have sufficed for one.
  i64 copies() const { return task.size(); }
  i64 changes() const { return used_bytes.size(); }

  Column<std::int32_t> handle, task;
  Column<std::int16_t> source, target;
  Column<double> requested_s, start_s, end_s;
  Column<std::int8_t> reason;

  Column<double> time_s;
  Column<std::int16_t> memory;
  Column<i64> used_bytes;

 private:
  static double seconds(i64 ticks) { return static_cast<double>(ticks) / 1e9; }
};

}  // namespace tasksim
