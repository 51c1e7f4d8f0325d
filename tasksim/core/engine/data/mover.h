// Mover of data: fetches the data that tasks need, and lets unneeded data leave.
#pragma once

#include <deque>
#include <vector>

#include "eviction.h"

namespace tasksim {

// The taker of the data of a task that a worker has popped.
class Taker {
 public:
  virtual void arrive() = 0;  // one of the data has arrived

  int task = -1;
  int memory = 0;
  int priority = 0;

 protected:
  ~Taker() = default;
};

// Requests of tasks and hints to the memories of a node (engine/data/mover.py).
class Mover {
 public:
  Mover(Copies &copies, OpenRequests &requests, Eviction &eviction)
      : copies_(copies), requests_(requests), eviction_(eviction) {}

  // Fetches the data of *needs* to the memory of *taker*, and keeps them there. Returns the number
  // of missing ones; *taker* is notified of each arrival.
  int fetch(std::span<const Need> needs, Taker &taker);

  // Prefetches the data of *task*, which was given to a worker there, to *memory*.
  void prefetch(std::span<const Need> needs, int memory, int task, int priority);

  // Lets *handle* leave first, and writes it back when no other copy is in progress.
  void will_not_be_used(int handle);

  // Ends the claim of an ended task on its data in *memory*.
  void release(std::span<const Need> needs, int memory);

 private:
  // One datum that a task waits for: it has it when one of the requests is left.
  class Missing : public Waiter {
   public:
    void one_done() override;
    Mover *mover;
    Need need;
    Taker *taker;
    int left;
  };

  bool fetch_one(const Need &need, Taker &taker);
  bool fetch_later(const Need &need, Taker &taker);
  std::vector<RequestRef> in_the_way(int handle, int memory);
  void take(const Need &need, int memory);
  void cancel_prefetches(int handle, const Taker &taker);

  Copies &copies_;
  OpenRequests &requests_;
  Eviction &eviction_;
  std::deque<Missing> all_;
  std::vector<Missing *> free_;
};

}  // namespace tasksim
