// Log of copies and of the use of memory: what a replay notes of them, in rows.
#pragma once

#include <vector>

#include "requests.h"

namespace tasksim {

struct CopyLog {
  struct Row {
    i64 handle, task, source, target, reason, asked, start, end;
  };
  struct Use {
    i64 time, memory, used;
  };

  void copied(const Request &request, i64 now) {
    copies.push_back({request.handle, request.task, request.source, request.target,
                      request.reason, request.asked, request.started, now});
  }
  void changed(int memory, i64 used, i64 now) { uses.push_back({now, memory, used}); }

  std::vector<Row> copies;
  std::vector<Use> uses;
};

}  // namespace tasksim
