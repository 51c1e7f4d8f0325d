// Line: a queue whose items leave near the front.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace tasksim {

template <class T>
class Line {
 public:
  bool empty() const { return first_ == items_.size(); }
  std::size_t size() const { return items_.size() - first_; }
  const T &front() const { return items_[first_]; }
  const T &back() const { return items_.back(); }
  auto begin() const { return items_.begin() + first_; }
  auto end() const { return items_.end(); }

  void push_back(const T &item) {
    if (first_ >= MAX_EMPTY_PLACES && first_ >= size()) close_up();
    items_.push_back(item);
  }

  void push_front(const T &item) {
    if (first_)
      items_[--first_] = item;
    else
      items_.insert(items_.begin(), item);
  }

  // Removes and returns the item at *place*; those before it move back by one.
  T take(std::size_t place) {
    const auto here = items_.begin() + first_;
    const T item = here[place];
    std::move_backward(here, here + place, here + place + 1);
    ++first_;
    return item;
  }

  void clear() {
    items_.clear();
    first_ = 0;
  }

  T pop_front() { return std::move(items_[first_++]); }

  T pop_back() {
    const T item = items_.back();
    items_.pop_back();
    return item;
  }

 private:
  // Empty places in front before they are freed.
  static constexpr std::size_t MAX_EMPTY_PLACES = 32;

  void close_up() {
    items_.erase(items_.begin(), items_.begin() + first_);
    first_ = 0;
  }

  std::vector<T> items_;
  std::size_t first_ = 0;
};

}  // namespace tasksim
