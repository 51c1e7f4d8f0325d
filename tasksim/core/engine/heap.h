// Heap of events, the first on top. std::push_heap and pop_heap would move large events more often.
#pragma once

#include <vector>

namespace tasksim {

// *Event* has before(other), a strict order without equals.
template <class Event>
class Heap {
 public:
  bool empty() const { return events_.empty(); }
  std::size_t size() const { return events_.size(); }
  const Event &first() const { return events_.front(); }

  void push(const Event &event) {
    std::size_t place = events_.size();
    events_.push_back(event);
    while (place) {
      const std::size_t parent = (place - 1) / 2;
      if (!event.before(events_[parent])) break;
      events_[place] = events_[parent];
      place = parent;
    }
    events_[place] = event;
  }

  // Removes and returns the first.
  Event pop() {
    return pop([](const Event &, std::size_t) {});
  }

  // The same; calls risen(event, place) for each event that comes nearer to the top.
  template <class Risen>
  Event pop(Risen risen) {
    const Event first = events_.front(), last = events_.back();
    events_.pop_back();
    const std::size_t size = events_.size();
    std::size_t place = 0;
    while (size) {
      std::size_t child = 2 * place + 1;
      if (child >= size) break;
      if (child + 1 < size && events_[child + 1].before(events_[child])) ++child;
      if (!events_[child].before(last)) break;
      events_[place] = events_[child];
      risen(events_[place], place);
      place = child;
    }
    if (size) events_[place] = last;
    return first;
  }

 private:
  std::vector<Event> events_;
};

}  // namespace tasksim
