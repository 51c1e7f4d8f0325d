// Copying as threads do it: they look after requests round by round, and hold locks meanwhile.
#pragma once

#include <deque>
#include <vector>

#include "locks.h"
#include "workers.h"

namespace tasksim::threads {

// What threads do for the requests of *node* (StarPU's datawizard/data_request.c). *me* is the
// worker that does it; null: the main thread.
class Copying {
 public:
  Copying(Node &node, Kernel &kernel, DataLocks &locks, Office &office);
  Copying(const Copying &) = delete;

  // Looks after the requests of all memories that *me* looks after; whether there was any.
  Steps<bool> look_after_all(Worker *me);

  // Notes what has come to or from *memory*, and starts what may; whether there was any.
  Steps<bool> look_after(int memory, Worker *me);

  // Asks for the data of a task, one after the other.
  Steps<> fetch(std::span<const Need> needs, Intake &intake, Worker *me, i64 cost);

  // Hands the communication *task* of *node* over, and asks for its datum in main memory.
  Steps<> hand_over(Node &node, int task, int released_by, Worker *me);

  // Follows a hint about *handle*.
  Steps<> will_not_be_used(int handle, Worker *me);

  // Locks the data of a task, one after the other; looks after requests rather than waits.
  Steps<> touch_patiently(std::span<const Need> needs, Worker *me);

 private:
  using Requested = std::vector<RequestRef>;
  using OpenBefore = std::vector<OpenRequest>;

  // The requests of a memory to or from one peer: who waits, and whose copies are under way.
  struct List {
    explicit List(Channel &channel) : channel(channel) {}
    Channel &channel;
    Mutex pending, waiting;
    Requested flying;
  };
  using Group = std::vector<List *>;

  // Those that one memory handles: inward and outward per peer, in the order of a look at them.
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
  const i64 look_;  // what a look at the requests of a memory costs in ticks
  std::vector<Lists> of_;
  const Clock &clock_;
  Landing *const landing_;  // where received data land, if that costs anything
  Mutex chunks_;            // who pins memory
};

}  // namespace tasksim::threads
