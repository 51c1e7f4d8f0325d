#include "decisions.h"

#include <algorithm>
#include <tuple>

namespace tasksim {

void Decisions::decided(int task, int worker, std::vector<Estimate> estimates) {
  std::ranges::sort(estimates, {}, &Estimate::worker);
  if (estimates.empty()) estimates.push_back({worker});
  for (const Estimate &each : estimates)
    note(task, each.worker == worker ? CHOSEN : CANDIDATE, NO_QUEUE, -1, each);
}

void Decisions::queued(int task, int queue, i64 key, i64 second_key) {
  leave(task);
  const auto &tasks = tasks_in(queue);
  const auto keys = [](const Entry &entry) { return std::tuple(entry.key, entry.second_key); };
  const auto behind = std::ranges::upper_bound(tasks, std::tuple(key, second_key), {}, keys);
  enter({key, second_key, task}, queue, behind - tasks.begin());
}

void Decisions::queued_at(int task, int queue, i64 position, bool also) {
  if (!also) leave(task);
  constexpr i64 FIRST = std::numeric_limits<i64>::min();  // before the tasks that have a key
  enter({FIRST, 0, task}, queue, position);
}

void Decisions::left(int task, int queue) { remove(task, queue, LEFT, owner(queue)); }

void Decisions::taken(int task, int worker) {
  const auto &queues = queues_of_[task];
  if (queues.empty()) {
    note(task, TAKEN, NO_QUEUE, -1, {worker});
    return;
  }
  remove(task, queues.back(), TAKEN, worker);
  leave(task);
}

void Decisions::write(tasksim_decisions &columns) const {
  columns = {static_cast<i64>(time_.size()), time_.data(),     task_.data(),   step_.data(),
             worker_.data(),                 queue_.data(),    position_.data(), free_.data(),
             transfer_.data(),               duration_.data(), energy_.data(), end_.data(),
             cost_.data()};
}

std::deque<Decisions::Entry> &Decisions::tasks_in(int queue) {
  if (queue >= static_cast<int>(queues_.size())) queues_.resize(queue + 1);
  return queues_[queue];
}

void Decisions::enter(const Entry &entry, int queue, i64 position) {
  auto &tasks = tasks_in(queue);
  tasks.insert(tasks.begin() + position, entry);
  queues_of_[entry.task].push_back(queue);
  note(entry.task, QUEUED, queue, position, {owner(queue)});
}

void Decisions::leave(int task) {
  while (!queues_of_[task].empty()) left(task, queues_of_[task].back());
}

void Decisions::remove(int task, int queue, Step step, int worker) {
  auto &tasks = queues_[queue];
  const auto place = std::ranges::find(tasks, task, &Entry::task);
  const i64 position = place - tasks.begin();
  tasks.erase(place);
  auto &queues = queues_of_[task];
  queues.erase(std::ranges::find(queues, queue));
  note(task, step, queue, position, {worker});
}

void Decisions::note(int task, Step step, int queue, i64 position, const Estimate &estimate) {
  time_.push_back(static_cast<double>(ticks_) / 1e9);
  task_.push_back(task);
  step_.push_back(step);
  worker_.push_back(estimate.worker);
  queue_.push_back(queue);
  position_.push_back(static_cast<std::int32_t>(position));
  free_.push_back(estimate.free);
  transfer_.push_back(estimate.transfer);
  duration_.push_back(estimate.duration);
  energy_.push_back(estimate.energy);
  end_.push_back(estimate.end);
  cost_.push_back(estimate.cost);
}

}  // namespace tasksim
