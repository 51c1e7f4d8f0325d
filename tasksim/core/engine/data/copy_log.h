// Log of copies and of the use of memory: the records of a replay, in the columns of its tables.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "requests.h"

namespace tasksim {

#ifdef __wasm__

// A column that only grows, in blocks, which its reader joins. In WebAssembly realloc copies and memory
// is never given back: columns that double beside each other take five times their size, and one that
// is joined beside its blocks twice.
template <class Value>
class Column {
  static_assert(std::is_trivially_copyable_v<Value>);

 public:
  void add(Value value) {
    if (used_ == BLOCK_VALUES) {
      blocks_.push_back(std::make_unique_for_overwrite<Value[]>(BLOCK_VALUES));
      used_ = 0;
    }
    blocks_.back()[used_++] = value;
    ++size_;
  }

  i64 size() const { return size_; }

  // The addresses of the blocks, in place of values: the reader knows it (view/page/script/core.js).
  Value *data() { return reinterpret_cast<Value *>(blocks_.data()); }

  template <class Body>
  void for_each(Body body) const {
    for (i64 row = 0; row < size_; ++row) body(blocks_[row / BLOCK_VALUES][row % BLOCK_VALUES]);
  }

 private:
  static constexpr i64 BLOCK_VALUES = 4096;  // as in view/page/script/instance.js

  std::vector<std::unique_ptr<Value[]>> blocks_;
  i64 size_ = 0, used_ = BLOCK_VALUES;  // values of all blocks, of the last one
};

#else

// A column that only grows, and is handed to its reader without a copy. Columns are most of the
// memory of a large replay, and the system must first clear memory that was never touched. So they
// grow by realloc, which moves pages, not values, if there are many.
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
  Value *data() { return values_; }

  template <class Body>
  void for_each(Body body) const {
    for (i64 row = 0; row < size_; ++row) body(values_[row]);
  }

 private:
  // First capacity: most replays, made by the thousand, are short.
  static constexpr i64 FIRST_CAPACITY = 64;

  void grow() {
    const i64 room = std::max(FIRST_CAPACITY, 2 * room_);
    void *moved = std::realloc(values_, static_cast<std::size_t>(room) * sizeof(Value));
    if (!moved) throw std::bad_alloc();
    values_ = static_cast<Value *>(moved);
    room_ = room;
  }

  Value *values_ = nullptr;
  i64 size_ = 0, room_ = 0;
};

#endif

struct CopyLog {
  // Notes that *request* was copied from *start* to *end*.
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

  // The number of complete rows, in case memory was short for one.
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
