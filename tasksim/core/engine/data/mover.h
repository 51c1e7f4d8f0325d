// Mover of data: what tasks ask for is brought, what they do not need any more may leave.
#pragma once

#include <deque>
#include <vector>

#include "eviction.h"

namespace tasksim {

// Who takes in the data of a task that a worker has popped.
class Taker {
 public:
  virtual void arrive() = 0;  // one of the data has come

  int task = -1;
  int memory = 0;
  int priority = 0;

 protected:
  ~Taker() = default;
};

// What tasks and hints ask of the memories of a node (engine/data/mover.py).
class Mover {
 public:
  Mover(Copies &copies, OpenRequests &requests, Eviction &eviction)
      : copies_(copies), requests_(requests), eviction_(eviction) {}

  // Brings what *needs* says to the memory of *taker*, and keeps it there. How many of the data
  // are not there yet; *taker* hears of each that comes.
  int fetch(std::span<const Need> needs, Taker &taker);

  // Brings ahead to *memory* what *task*, which was given to a worker there, needs.
  void prefetch(std::span<const Need> needs, int memory, int task, int priority);

  // Lets *handle* leave first, and writes it back when nothing else is to be copied.
  void will_not_be_used(int handle);

  // Takes back that *memory* keeps what a task that has ended needed.
  void release(std::span<const Need> needs, int memory);

 private:
  // One datum that a task waits for: of the requests of which one is left, it has it.
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
