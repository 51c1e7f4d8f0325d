// Eviction: room in a device's memory, the data that leave it, and the requests that wait.
#pragma once

#include "copy_log.h"
#include "open_requests.h"

namespace tasksim {

// Places in limited memories, and the evictions for them (engine/data/eviction.py).
class Eviction {
 public:
  Eviction(const Clock &clock, Copies &copies, OpenRequests &requests, CopyLog &log,
           const Platform &platform);

  // Finds a place for *request* in the memory of *store*; returns whether there is one.
  Steps<bool> place(RequestRef request, Store &store);

  // Lets requests that found no room in *memory* try again.
  void unpinned(int memory);

  // Drops *handle*, written home to make room in *memory*, unless it is needed now.
  void written_back(Store &store, int handle, int memory);

 private:
  static constexpr i64 WRITE_BACK_FACTOR = 2;  // times the needed size, as in StarPU

  std::optional<DriverCalls> make_room(Store &store, int memory, i64 size, bool keep_wanted);
  void drop(Store &store, int handle, int memory);
  void write_back(int handle, int memory);

  const Clock &clock_;
  Copies &copies_;
  OpenRequests &requests_;
  CopyLog &log_;
  i64 allocate_, free_;
  i64 allocator_free_ = 0;  // end of the last one: allocations of all devices exclude each other
  std::vector<bool> starved_;
};

}  // namespace tasksim
