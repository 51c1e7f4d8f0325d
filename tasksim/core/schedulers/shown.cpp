#include "shown.h"

#include <map>

#include "python.h"

namespace tasksim {

namespace {

constexpr int POSITIONAL = 0x0080;  // METH_FASTCALL

Shown &shown_by(void *owner) {
  return *static_cast<Shown *>(python.capsule_pointer(owner, nullptr));
}

void free_shown(void *owner) { delete &shown_by(owner); }

void *nothing() {
  python.keep(python.none);
  return python.none;
}

// Calls *body*; C++ exceptions become Python errors.
template <class Body>
void *heard(void *owner, Body body) noexcept {
  Shown &shown = shown_by(owner);
  try {
    return body(shown);
  } catch (const Raised &) {
    return nullptr;
  } catch (const Broken &broken) {
    // A callback inside this one has failed: Python's error is set already.
    if (broken.status == TASKSIM_CALLBACK) return nullptr;
    shown.failed = std::current_exception();
  } catch (...) {
    shown.failed = std::current_exception();
  }
  python.set_error(python.runtime_error, "the compiled core has stopped");
  return nullptr;
}

int worker_of(const Shown &shown, View &view, void *given) {
  return static_cast<int>(place(given, shown.given.workers, view.workers()));
}

int task_of(const Shown &shown, View &view, void *given) {
  return static_cast<int>(place(given, shown.given.tasks, view.graph.tasks));
}

int memory_of(const Shown &shown, View &view, void *given) {
  const int memories = view.platform.memories;
  const long long memory = plain(given, memories);
  if (memory >= 0) return static_cast<int>(memory);
  Object(python.get_item(shown.given.memories, given));
  const long long index = python.as_index(given, nullptr);
  if (index >= 0 || python.error()) return static_cast<int>(index);
  python.set_error(python.value_error, "negative shift count");
  throw Raised{};
}

u64 mask_of(void *given) {
  const u64 mask = python.as_mask(given);
  if (mask == ~u64{0} && python.error()) throw Raised{};
  return mask;
}

using Given = void *const *;

void *now(void *owner, Given, intptr_t) {
  return heard(owner, [&](Shown &shown) { return python.from_double(shown.view().now()); });
}

void *pusher(void *owner, Given, intptr_t) {
  return heard(owner, [&](Shown &shown) {
    const int worker = shown.view().pusher;
    return worker == NONE ? nothing() : python.from_int(worker);
  });
}

void *sleeping(void *owner, Given given, intptr_t) {
  return heard(owner, [&](Shown &shown) {
    View &view = shown.view();
    void *answer = view.sleeping(worker_of(shown, view, given[0])) ? python.yes : python.no;
    python.keep(answer);
    return answer;
  });
}

void *wake(void *owner, Given given, intptr_t) {
  return heard(owner, [&](Shown &shown) {
    View &view = shown.view();
    const int worker = worker_of(shown, view, given[0]);
    if (shown.runs()) view.wake(worker);
    return nothing();
  });
}

void *wake_any_of(void *owner, Given given, intptr_t) {
  return heard(owner, [&](Shown &shown) {
    const u64 classes = mask_of(given[0]);
    if (shown.runs()) shown.view().wake_any_of(classes);
    return nothing();
  });
}

void *wake_all_of(void *owner, Given given, intptr_t) {
  return heard(owner, [&](Shown &shown) {
    const u64 classes = mask_of(given[0]);
    if (shown.runs()) shown.view().wake_all_of(classes);
    return nothing();
  });
}

void *transfer_estimate(void *owner, Given given, intptr_t) {
  return heard(owner, [&](Shown &shown) {
    View &view = shown.view();
    if (view.platform.memories == 1) return python.from_double(0.0);
    const int task = task_of(shown, view, given[0]);
    return python.from_double(view.transfer_estimate(task, memory_of(shown, view, given[1])));
  });
}

void *unready(void *owner, Given given, intptr_t) {
  return heard(owner, [&](Shown &shown) {
    View &view = shown.view();
    Lacks lacks;
    if (view.platform.memories > 1) {
      const int task = task_of(shown, view, given[0]);
      lacks = view.unready(task, memory_of(shown, view, given[1]));
    }
    Object answer(python.new_tuple(3));
    intptr_t part = 0;
    for (const i64 bytes : {lacks.missing, lacks.absent, lacks.unplaced})
      python.set_tuple_item(answer.it(), part++, Object::number(bytes).release());
    return answer.release();
  });
}

void *holds(void *owner, Given given, intptr_t) {
  return heard(owner, [&](Shown &shown) {
    View &view = shown.view();
    bool there = true;
    if (view.platform.memories > 1) {
      const auto handle = place(given[0], shown.given.handles, view.graph.handles);
      there = view.holds(static_cast<int>(handle), memory_of(shown, view, given[1]));
    }
    void *answer = there ? python.yes : python.no;
    python.keep(answer);
    return answer;
  });
}

void *prefetch(void *owner, Given given, intptr_t) {
  return heard(owner, [&](Shown &shown) {
    View &view = shown.view();
    if (view.platform.memories == 1) return nothing();
    const int task = task_of(shown, view, given[0]), memory = memory_of(shown, view, given[1]);
    if (shown.runs()) view.prefetch(task, memory);
    return nothing();
  });
}

void *prefetch_handle(void *owner, Given given, intptr_t) {
  return heard(owner, [&](Shown &shown) {
    View &view = shown.view();
    const auto handle = place(given[0], shown.given.handles, view.graph.handles);
    const int memory = memory_of(shown, view, given[1]);
    if (shown.runs()) view.prefetch_handle(static_cast<int>(handle), memory);
    return nothing();
  });
}

// Python's description of a function (PyMethodDef).
struct Definition {
  const char *name;
  void *(*function)(void *owner, Given given, intptr_t count);
  int flags;
  const char *documentation;
};

Definition definitions[] = {
    {"now", now, POSITIONAL, nullptr},
    {"pusher", pusher, POSITIONAL, nullptr},
    {"sleeping", sleeping, POSITIONAL, nullptr},
    {"wake", wake, POSITIONAL, nullptr},
    {"wake_any_of", wake_any_of, POSITIONAL, nullptr},
    {"wake_all_of", wake_all_of, POSITIONAL, nullptr},
    {"transfer_estimate", transfer_estimate, POSITIONAL, nullptr},
    {"unready", unready, POSITIONAL, nullptr},
    {"holds", holds, POSITIONAL, nullptr},
    {"prefetch", prefetch, POSITIONAL, nullptr},
    {"prefetch_handle", prefetch_handle, POSITIONAL, nullptr},
};

}  // namespace

void *Shown::owner() { return python.new_capsule(this, nullptr, free_shown); }

void Shown::rethrow() {
  if (!failed) return;
  python.clear_error();
  std::rethrow_exception(std::exchange(failed, nullptr));
}

void *function_of(void *owner, const std::string &name) {
  for (Definition &definition : definitions)
    if (name == definition.name) return python.new_function(&definition, owner, nullptr);
  return nullptr;
}

}  // namespace tasksim
