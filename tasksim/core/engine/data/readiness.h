// Readiness: of many tasks that wait for one memory, the one that lacks the fewest bytes there
// (engine/data/readiness.py).
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "../../schedulers/scheduler.h"
#include "copies.h"

namespace tasksim {

// Tasks with the data that they lack in *memory*, updated as data come and go.
//
// When a datum has changed, only the tasks that access it are updated. Tasks and data are
// identified by their places in lists; outdated entries are dropped when they come up.
class DataReadiness : public Readiness, public Follower {
 public:
  DataReadiness(const Copies &copies, const Graph &graph, int memory)
      : copies_(copies),
        graph_(graph),
        memory_(memory),
        changes_(copies.changes),
        number_of_(graph.handles, NONE) {
    changes_->follow(memory, *this);
  }
  ~DataReadiness() { changes_->leave(memory_, *this); }

  std::size_t size() const override { return size_; }
  void add(int task) override { add(task, ++last_); }
  void add_first(int task) override { add(task, --first_); }

  int take() override {
    refresh();
    while (!counts(heap_.front())) pop();
    Waiting &first = waiting_[heap_.front().number];
    pop();
    first.place = GONE;
    free_.push_back(static_cast<int>(&first - waiting_.data()));
    --size_;
    return first.task;
  }

  std::vector<int> tasks() const override {
    std::vector<Waiting> waiting;
    for (const Waiting &each : waiting_)
      if (each.place != GONE) waiting.push_back(each);
    std::ranges::sort(waiting, {}, &Waiting::place);
    std::vector<int> found;
    for (const Waiting &each : waiting) found.push_back(each.task);
    return found;
  }

  void changed(int handle) override {
    const int number = number_of_[handle];
    if (number == NONE || data_[number].changed) return;
    data_[number].changed = true;
    changed_.push_back(handle);
  }

 private:
  static constexpr i64 GONE = INT64_MIN;
  // Entries of the heap per task before it is cleaned.
  static constexpr std::size_t MAX_HEAP_ENTRIES_PER_TASK = 4;

  struct Waiting {
    Lacks lacks;
    i64 place;  // among the tasks; GONE: it was taken
    int task;
  };
  struct Entry {
    Lacks lacks;
    i64 place;
    int number;  // of the task, in waiting_
    bool operator>(const Entry &other) const {
      return lacks != other.lacks ? lacks > other.lacks : place > other.place;
    }
  };
  struct User {
    int number;
    bool reads;
    i64 place;  // at its addition: another task may have its number since
    int next;   // next user of the datum
  };
  struct Datum {
    Lacks lacks;  // the part of it that its readers lack
    int first_user;
    bool changed;
  };

  void add(int task, i64 place) {
    const int number = next_of(waiting_, free_);
    Lacks lacks;
    for (const Need &need : graph_.needs[task]) {
      Datum &datum = datum_of(need.handle);
      const int user = next_of(users_, free_users_);
      users_[user] = {number, need.reads, place, datum.first_user};
      datum.first_user = user;
      change(lacks, datum.lacks, need.reads, 1);
    }
    waiting_[number] = {lacks, place, task};
    ++size_;
    push(number);
  }

  // The number of a free element.
  template <class Element>
  static int next_of(std::vector<Element> &all, std::vector<int> &free) {
    if (free.empty()) {
      all.emplace_back();
      return static_cast<int>(all.size()) - 1;
    }
    const int number = free.back();
    free.pop_back();
    return number;
  }

  Datum &datum_of(int handle) {
    int &number = number_of_[handle];
    if (number == NONE) {
      number = next_of(data_, free_data_);
      data_[number] = {lacking(handle), NONE, false};
    }
    return data_[number];
  }

  Lacks lacking(int handle) const {
    const auto &[valid, places, coming, size] = copies_.of[handle];
    const i64 missing = valid >> memory_ & 1 ? 0 : size;
    const i64 absent = coming >> memory_ & 1 ? 0 : missing;
    return {missing, absent, places >> memory_ & 1 ? 0 : size};
  }

  // Adds *lacks* of a datum to a task, or subtracts it.
  static void change(Lacks &whole, const Lacks &lacks, bool reads, int sign) {
    if (reads) {
      whole.missing += sign * lacks.missing;
      whole.absent += sign * lacks.absent;
    }
    whole.unplaced += sign * lacks.unplaced;
  }

  // Updates the tasks that access changed data.
  void refresh() {
    for (const int handle : changed_) {
      Datum &datum = data_[number_of_[handle]];
      datum.changed = false;
      const Lacks before = datum.lacks, now = lacking(handle);
      if (now == before) continue;
      datum.lacks = now;
      change_users(datum, before);
      if (datum.first_user == NONE)
        free_data_.push_back(std::exchange(number_of_[handle], static_cast<int>(NONE)));
    }
    changed_.clear();
  }

  void change_users(Datum &datum, const Lacks &before) {
    for (int *link = &datum.first_user; *link != NONE;) {
      const User &user = users_[*link];
      Waiting &waiting = waiting_[user.number];
      if (waiting.place == user.place) {
        change(waiting.lacks, before, user.reads, -1);
        change(waiting.lacks, datum.lacks, user.reads, 1);
        push(user.number);
        link = &users_[*link].next;
      } else {
        free_users_.push_back(*link);
        *link = user.next;
      }
    }
  }

  bool counts(const Entry &entry) const {
    const Waiting &waiting = waiting_[entry.number];
    return waiting.place == entry.place && waiting.lacks == entry.lacks;
  }

  void push(int number) {
    if (heap_.size() > MAX_HEAP_ENTRIES_PER_TASK * size_) {
      std::erase_if(heap_, [this](const Entry &entry) { return !counts(entry); });
      std::make_heap(heap_.begin(), heap_.end(), std::greater<>{});
    }
    heap_.push_back({waiting_[number].lacks, waiting_[number].place, number});
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>{});
  }

  void pop() {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>{});
    heap_.pop_back();
  }

  const Copies &copies_;
  const Graph &graph_;
  int memory_;
  std::shared_ptr<Changes> changes_;  // may live longer than the copies
  std::vector<int> changed_;          // data
  std::vector<Waiting> waiting_;
  std::vector<Entry> heap_;  // cleaned lazily: an entry is valid if its task lacks that much
  std::vector<User> users_;
  std::vector<Datum> data_;
  std::vector<int> number_of_;  // per datum, its number in data_
  std::vector<int> free_, free_users_, free_data_;  // free numbers of elements
  std::size_t size_ = 0;
  i64 first_ = 0, last_ = 0;
};

}  // namespace tasksim
