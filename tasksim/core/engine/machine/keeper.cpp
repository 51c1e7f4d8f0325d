// Keeper: the routine that handles the requests of a memory without a device's worker.
#include "node.h"

namespace tasksim {

Steps<> keeper(Node &node, int memory) {
  Routine &routine = *node.requests.keepers[memory];
  const Post &post = node.requests.posts[memory];
  for (;;) {
    routine.woken = false;
    bool worked = false;
    co_await Wait{0};  // the caller completes its requests in this instant
    if (post.waiting || post.arrived) worked = co_await node.handling.serve(memory);
    if (!worked && !routine.woken) co_await SLEEP;
  }
}

}  // namespace tasksim
