// Copying by threads: they handle requests in rounds, and hold locks meanwhile.
#pragma once

#include <deque>
#include <vector>

#include "locks.h"
#include "workers.h"

namespace tasksim::threads {

// Work of threads for the requests of *node* (StarPU's datawizard/data_request.c). *me* is the
// worker that does it; null: the main thread.
class Copying {
 public:
  Copying(Node &node, Kernel &kernel, DataLocks &locks, Office &office);
  Copying(const Copying &) = delete;

  // Handles the requests of all memories of *me*; returns whether there were any.
  Steps<bool> look_after_all(Worker *me);

  // Notes arrivals to or from *memory*, and starts requests; returns whether there were any.
  Steps<bool> look_after(int memory, Worker *me);

  // Requests the data of a task, one after the other.
  Steps<> fetch(std::span<const Need> needs, Intake &intake, Worker *me, i64 cost);

  // Hands the communication *task* of *node* over, and requests its datum in main memory.
  Steps<> hand_over(Node &node, int task, int released_by, Worker *me);

  // Follows a hint about *handle*.
  Steps<> will_not_be_used(int handle, Worker *me);

  // Locks the data of a task, one after the other; handles requests while they are taken.
  Steps<> touch_patiently(std::span<const Need> needs, Worker *me);

 private:
  using Requested = std::vector<RequestRef>;
  using OpenBefore = std::vector<OpenRequest>;

  // The requests of a memory to or from one peer: waiting ones, and those with copies in progress.
  struct List {
    explicit List(Channel &channel) : channel(channel) {}
    Channel &channel;
    Mutex pending, waiting;
    Requested flying;
  };
  using Group = std::vector<List *>;

  // The requests that one memory handles: inward and outward per peer, in the order of a visit.
  struct Lists {
    std::deque<List> inward, outward;
    std::vector<Group> groups;
  };

  struct Started {
    bool any = false, room = true;
  };

  Steps<bool> note_arrivals(List &requests, Requested flying, Post &post, Worker *me);
  Steps<> make_room(Worker *me);
  Steps<bool> start_all(const Group &group, Post &post, Worker *me);
  Steps<Started> start_some(List &requests, Requested taken, int kind, Post &post, Worker *me);
  Steps<bool> start(RequestRef request, List &requests, Worker *me);
  Steps<bool> make_place(RequestRef request);
  void on_copied(const RequestRef &request);
  Steps<> complete(RequestRef request, Worker *me);
  Steps<> post(RequestRef request, Worker *me);
  Steps<> fetch_one(Need need, Intake &intake, Worker *me);
  Steps<> post_new(int handle, OpenBefore before, Worker *me);

  Kernel &kernel_;
  OpenRequests &requests_;
  Handling &handling_;
  Mover &mover_;
  DataLocks &locks_;
  Office &office_;
  const i64 look_;  // ticks of a look at the requests of a memory
  std::vector<Lists> of_;
  const Clock &clock_;
  Landing *const landing_;  // memory for received data, if it has a cost
  Mutex chunks_;            // held while pinning memory
};

}  // namespace tasksim::threads
