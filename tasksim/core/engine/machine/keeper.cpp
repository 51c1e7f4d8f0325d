// Keeper: the routine that looks after the requests of a memory that no device's worker does.
#include "node.h"

namespace tasksim {

Steps<> keeper(Node &node, int memory) {
  Routine &routine = *node.requests.keepers[memory];
  const Post &post = node.requests.posts[memory];
  for (;;) {
    routine.woken = false;
    bool worked = false;
    co_await Wait{0};  // whoever asks has the rest of this instant to say what for
    if (post.waiting || post.arrived) worked = co_await node.handling.serve(memory);
    if (!worked && !routine.woken) co_await SLEEP;
  }
}

}  // namespace tasksim
