// Log of copies and of the use of memory: what a replay notes of them, in rows.
#pragma once

#include <algorithm>
#include <vector>

#include "requests.h"

namespace tasksim {

// Rows that are only added to. In blocks: a vector that grows moves all that it has, to memory that
// the system must make empty first, which costs more than all that is noted.
template <class Row>
class Rows {
 public:
  i64 size() const { return size_; }

  void add(const Row &row) {
    if (blocks_.empty() || blocks_.back().size() == blocks_.back().capacity()) {
      blocks_.emplace_back();
      blocks_.back().reserve(std::clamp(static_cast<std::size_t>(size_), FEW, MANY));
    }
    blocks_.back().push_back(row);
    ++size_;
  }

  // Calls *look* with the number of each row and the row.
  template <class Look>
  void for_each(Look look) const {
    i64 number = 0;
    for (const auto &block : blocks_)
      for (const Row &row : block) look(number++, row);
  }

 private:
  static constexpr std::size_t FEW = 64, MANY = 16384;  // rows of a block

  std::vector<std::vector<Row>> blocks_;
  i64 size_ = 0;
};

struct CopyLog {
  struct Row {
    i64 asked, start, end;
    std::int32_t handle, task;
    std::int8_t source, target, reason;
  };
  struct Use {
    i64 time, used;
    std::int32_t memory;
  };

  // *request* was copied from *start* to *end*.
  void copied(const Request &request, i64 start, i64 end) {
    copies.add({request.asked, start, end, request.handle, request.task,
                static_cast<std::int8_t>(request.source), static_cast<std::int8_t>(request.target),
                static_cast<std::int8_t>(request.reason)});
  }
  void changed(int memory, i64 used, i64 now) { uses.add({now, used, memory}); }

  Rows<Row> copies;
  Rows<Use> uses;
};

}  // namespace tasksim
