// Threads of an OpenMP runtime as workers: the tasks that they are within, and what they go on to
// (schedulers/openmp_threads.py).
#pragma once

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "scheduler.h"

namespace tasksim {

enum Binding : int { TIED = 0, FREE = 1, HELD = 2, GROUP = 3 };  // graph/taskgraph.py

// What a graph tells of the tasks that its tasks are pieces of; empty if nothing.
struct Lives {
  Lives() = default;
  Lives(const Options &options, int tasks) {
    const i64 least[] = {0, NONE, NONE, 0, TIED, NONE}, most[] = {tasks - 1, tasks - 1, tasks - 1,
                                                                  tasks - 1, GROUP, tasks - 1};
    const char *const names[] = {"whole", "next", "parent", "depth", "binding", "creator"};
    std::vector<int> *const columns[] = {&whole, &next, &parent, &depth, &binding, &creator};
    for (int k = 0; k < 6; ++k) {
      const auto given = options.table(names[k]);
      if (!given.empty() && given.size() != static_cast<std::size_t>(tasks)) throw BadArrays{};
      for (const i64 value : given)
        if (value < least[k] || value > most[k]) throw BadArrays{};
      columns[k]->assign(given.begin(), given.end());
      if (columns[k]->size() != whole.size()) throw BadArrays{};
    }
    for (std::size_t piece = 0; piece < whole.size(); ++piece)
      if (whole[piece] > static_cast<int>(piece) || parent[piece] >= static_cast<int>(piece))
        throw BadArrays{};
  }

  // Per piece: its task, the one that continues it, its task's creator and the number of ancestors,
  // its binding, and the piece that created its task.
  std::vector<int> whole, next, parent, depth, binding, creator;
};

// Tasks that each worker has begun, and pieces that it runs before it looks at any queue.
class Threads {
 public:
  Threads(View &view, const Lives &lives)
      : lives(lives),
        view_(view),
        within_(view.workers()),
        at_once_(view.workers()),
        held_(view.workers()),
        spread_(view.workers(), 0),
        ended_(view.workers(), NONE),
        home_(lives.whole.size(), NONE),
        waiting_(lives.whole.size(), NONE),
        ready_(lives.whole.size(), NONE) {}

  // Whether the graph tells of tasks in pieces.
  bool known() const { return !lives.whole.empty(); }

  // Takes *task*, which is pushed, if it is bound to a worker, and wakes that.
  bool receive(int task) {
    if (!known()) return false;
    const int whole = lives.whole[task];
    int owner;
    if (whole != task) {
      // Begun elsewhere in pieces: the engine pushes no piece before the one that it continues.
      const int home = home_[whole];
      if (home == NONE) throw BadArrays{};
      if (view_.can_run(task, home)) {
        set_ready(whole, task);
        view_.wake(home);
        return true;
      }
      std::erase(within_[home], whole);
      home_[whole] = NONE;
      owner = able_from(task, home);
    } else if (lives.binding[task] != HELD) {
      return false;
    } else if (lives.parent[task] != NONE && home_[lives.parent[task]] != NONE) {
      owner = able_from(task, home_[lives.parent[task]]);
    } else {
      const int first = view_.pusher == NONE ? 0 : view_.pusher;
      owner = able_from(task, (first + spread_[first]) % view_.workers());
      ++spread_[first];
    }
    held_[owner].push_back(task);
    view_.wake(owner);
    return true;
  }

  // Whether *task* is pushed because its creation has come to an end just now.
  bool is_created(int task) const {
    return known() && view_.pusher != NONE && ended_[view_.pusher] != NONE &&
           lives.creator[task] == ended_[view_.pusher];
  }

  // Lets *worker* run *task*, which no queue takes, before anything else.
  void run_at_once(int task, int worker) {
    at_once_[worker].push_back({task, within_[worker].size()});
    view_.wake(worker);
  }

  // The first worker that can run *task*, from *first* on, wrapping round.
  int able_from(int task, int first) const {
    const int count = view_.workers();
    for (int worker = first; worker < first + count; ++worker)
      if (view_.can_run(task, worker % count)) return worker % count;
    return first;  // the engine has refused such tasks
  }

  // What *worker* does before it looks at queues: a piece of a task, or NONE.
  int next(int worker) {
    for (auto each = at_once_[worker].begin(); each != at_once_[worker].end(); ++each) {
      if (each->second < within_[worker].size()) continue;
      const int task = each->first;
      at_once_[worker].erase(each);
      return task;
    }
    if (!known()) return NONE;
    for (auto place = within_[worker].rbegin(); place != within_[worker].rend(); ++place) {
      if (ready_[*place] != NONE) return take_ready(*place);
      if (lives.parent[*place] != NONE) break;
    }
    return held_[worker].empty() ? NONE : take_first(held_[worker]);
  }

  // What *worker* goes on to although it is within another task, where threads would wait for ever:
  // a piece, or NONE.
  int last_resort(int worker) {
    if (ready_count_)
      for (auto place = within_[worker].rbegin(); place != within_[worker].rend(); ++place)
        if (ready_[*place] != NONE) return take_ready(*place);
    return NONE;
  }

  // Lets all others look for a last resort, too, if there is something that they may find.
  void alarm(bool queued) {
    if (alarmed_ || !(queued || ready_count_)) return;
    alarmed_ = true;
    for (int worker = 0; worker < view_.workers(); ++worker)
      if (view_.sleeping(worker)) view_.wake(worker);
  }

  // Notes that *worker* runs *task* now.
  void begin(int task, int worker) {
    ++executed;
    alarmed_ = false;
    if (!known() || lives.next[task] == NONE) return;
    const int whole = lives.whole[task];
    if (home_[whole] == NONE) {
      home_[whole] = worker;
      within_[worker].push_back(whole);
    }
    waiting_[whole] = NONE;
  }

  // Notes that *worker* has ended *task*, before its successors are pushed.
  void end(int task, int worker) {
    --executed;
    spread_[worker] = 0;
    ended_[worker] = task;
    if (!known()) return;
    const int whole = lives.whole[task];
    if (lives.next[task] != NONE) {
      waiting_[whole] = lives.next[task];
    } else if (home_[whole] != NONE) {
      auto &within = within_[home_[whole]];
      within.erase(std::find(within.rbegin(), within.rend(), whole).base() - 1);
      home_[whole] = NONE;
      waiting_[whole] = NONE;
    }
  }

  struct Wait {
    int whole, binding;
  };

  // The task that *worker* waits in, and how; NONE and FREE, if in none.
  Wait wait_of(int worker) const {
    for (auto place = within_[worker].rbegin(); place != within_[worker].rend(); ++place)
      if (waiting_[*place] != NONE) return {*place, lives.binding[waiting_[*place]]};
    return {NONE, FREE};
  }

  // The task whose descendants alone *worker* may begin now; NONE: it may any.
  int tied_to(int worker) const {
    for (auto place = within_[worker].rbegin(); place != within_[worker].rend(); ++place) {
      const int following = waiting_[*place];
      if (following != NONE && lives.binding[following] == FREE) return NONE;
      if (lives.binding[*place] != FREE) return *place;
    }
    return NONE;
  }

  // Whether a worker that is tied to the task *tied* may begin *task*.
  bool may_begin(int task, int tied) const {
    return tied == NONE || lives.binding[task] == FREE || descends(task, tied);
  }

  // Whether *task* was created within the task *ancestor*, or within one in it.
  bool descends(int task, int ancestor) const {
    const int level = lives.depth[ancestor];
    int whole = lives.parent[task];
    while (whole != NONE && whole != ancestor && lives.depth[whole] > level)
      whole = lives.parent[whole];
    return whole == ancestor;
  }

  const Lives lives;
  i64 executed = 0;  // number of tasks that are executed at the moment

 private:
  static int take_first(std::deque<int> &tasks) {
    const int task = tasks.front();
    tasks.pop_front();
    return task;
  }

  void set_ready(int whole, int task) {
    ready_[whole] = task;
    ++ready_count_;
  }

  int take_ready(int whole) {
    const int task = ready_[whole];
    ready_[whole] = NONE;
    --ready_count_;
    return task;
  }

  View &view_;
  std::vector<std::vector<int>> within_;  // per worker the tasks begun and not ended
  // Per worker what it runs before it goes on, and within how many tasks it was then.
  std::vector<std::vector<std::pair<int, std::size_t>>> at_once_;
  std::vector<std::deque<int>> held_;
  std::vector<int> spread_;  // per worker, the implicit tasks that its last end has released
  std::vector<int> ended_;   // per worker, the task that it ended last
  // Per task: its worker, the piece that continues it while it is not executed, the same if ready.
  std::vector<int> home_, waiting_, ready_;
  i64 ready_count_ = 0;
  bool alarmed_ = false;  // whether all have been woken since the last task began
};

}  // namespace tasksim
