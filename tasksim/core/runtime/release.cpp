#include "release.h"

#include <algorithm>

namespace tasksim {

Release::Release(const Graph &graph, bool submitted)
    : graph_(graph), exclusive_(!graph.exclusive.empty()), missing_(graph.predecessors) {
  if (!submitted)  // a missing submission is one more thing to wait for
    for (auto &count : missing_) ++count;
  if (exclusive_) {
    held_.resize(graph.handles);
    waiting_.resize(graph.handles);
  }
}

std::vector<int> Release::sources() {
  std::vector<int> freed;
  for (int task = 0; task < graph_.tasks; ++task)
    if (!missing_[task]) freed.push_back(task);
  return granted(freed);
}

std::vector<int> Release::submit(int task) {
  return count_down(task) ? granted({task}) : std::vector<int>{};
}

void Release::complete(int task, std::vector<int> &freed) {
  for (const int successor : graph_.successors_of(task))
    if (!--missing_[successor]) freed.push_back(successor);
  if (!exclusive_) return;
  const auto returned = graph_.exclusive[task];
  for (const int handle : returned) held_[handle] = false;
  freed = granted(freed, returned);
}

std::vector<int> Release::give_back(int task) {
  if (!exclusive_) return {};
  const auto returned = graph_.exclusive[task];
  for (const int handle : returned) held_[handle] = false;
  return granted({}, returned);
}

bool Release::free_for(int task) const {
  for (const int handle : graph_.exclusive[task])
    if (held_[handle]) return false;
  return true;
}

// Tasks of *freed*, and tasks that waited for a handle just *returned*, that hold all their handles
// now. As in Python: sorted lists are merged, and a handle's tasks are asked while it is free.
std::vector<int> Release::granted(const std::vector<int> &freed, std::span<const int> returned) {
  if (!exclusive_) return freed;
  struct List {
    std::span<const int> tasks;
    int handle;  // -1: just freed
    std::size_t next = 0;
  };
  std::vector<List> lists{{freed, -1}};
  for (const int handle : returned) lists.push_back({waiting_[handle], handle});
  // A list gives its next task after the one before has been processed (heapq.merge).
  const auto refill = [this](List &list) {
    if (list.handle >= 0 && list.next < list.tasks.size() && held_[list.handle])
      list.next = list.tasks.size();
  };
  for (auto &list : lists) refill(list);
  std::vector<int> found;
  for (;;) {
    List *first = nullptr;
    for (auto &list : lists)
      if (list.next < list.tasks.size() &&
          (!first || list.tasks[list.next] < first->tasks[first->next]))
        first = &list;
    if (!first) break;
    const int task = first->tasks[first->next++];
    if (free_for(task)) {  // a task that waits for two of the handles comes twice
      for (const int handle : graph_.exclusive[task]) held_[handle] = true;
      found.push_back(task);
    }
    refill(*first);
  }
  for (const int task : freed)
    if (std::find(found.begin(), found.end(), task) == found.end()) wait(task);
  for (const int task : found)
    if (std::find(freed.begin(), freed.end(), task) == freed.end()) wait_no_more(task);
  return found;
}

void Release::wait(int task) {
  for (const int handle : graph_.exclusive[task]) {
    auto &tasks = waiting_[handle];
    tasks.insert(std::upper_bound(tasks.begin(), tasks.end(), task), task);
  }
}

void Release::wait_no_more(int task) {
  for (const int handle : graph_.exclusive[task]) {
    auto &tasks = waiting_[handle];
    tasks.erase(std::find(tasks.begin(), tasks.end(), task));
  }
}

}  // namespace tasksim
