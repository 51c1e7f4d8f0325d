// Python: the parts of it that the core calls, by the addresses that it was given.
#pragma once

#include <utility>

#include "../tasksim_core.h"

namespace tasksim {

inline tasksim_python python{};

// Error: Python's error is set.
struct Raised {};

// A reference to an object, released at the end.
class Object {
 public:
  explicit Object(void *made) : it_(made) {  // a new object, or null with an error set
    if (!it_) throw Raised{};
  }
  Object(Object &&other) noexcept : it_(std::exchange(other.it_, nullptr)) {}
  Object &operator=(Object &&) = delete;
  ~Object() {
    if (it_) python.let_go(it_);
  }

  static Object number(long long value) { return Object(python.from_int(value)); }

  // Calls *callable*, or the method of that name of the first object in the arguments.
  template <class... Given>
  static Object answer(void *callable, const Given &...given) {
    void *const all[] = {given.it()...};
    return Object(python.call(callable, all, sizeof...(given), nullptr));
  }
  static Object answer_of(void *who, void *method, const Object &given) {
    void *const all[] = {who, given.it()};
    return Object(python.call_method(method, all, 2, nullptr));
  }

  void *it() const { return it_; }
  void *release() { return std::exchange(it_, nullptr); }

 private:
  void *it_;
};

// The value of *object* if it is a plain int from 0 to *end* - 1; else -1.
inline long long plain(void *object, long long end) {
  const bool is_int = Object(python.type_of(object)).it() == python.int_type;
  int overflow = 0;
  const long long number = is_int ? python.as_int(object, &overflow) : -1;
  return number >= 0 && number < end ? number : -1;
}

// The place that *object* means in *list* of *length* items, as in Python: counted from the end if
// it is negative. An illegal one raises Python's error.
inline long long place(void *object, void *list, long long length) {
  const long long number = plain(object, length);
  if (number >= 0) return number;
  Object(python.get_item(list, object));
  const long long index = python.as_index(object, nullptr);
  if (index == -1 && python.error()) throw Raised{};
  return index < 0 ? index + length : index;
}

}  // namespace tasksim
