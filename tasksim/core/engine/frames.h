// Frames of coroutines, reused for the next of their size: they come and go several times per task.
#pragma once

#include <cstddef>
#include <new>

namespace tasksim {

class Frames {
 public:
  static void *get(std::size_t size) {
    const std::size_t kind = (size + STEP - 1) / STEP;
    if (KEEPS && kind < KINDS) {
      Free *&first = kept().first[kind];
      if (Free *frame = first) {
        first = frame->next;
        return frame;
      }
    }
    return ::operator new(kind * STEP);
  }

  static void give_back(void *frame, std::size_t size) {
    const std::size_t kind = (size + STEP - 1) / STEP;
    if (KEEPS && kind < KINDS) {
      Free *&first = kept().first[kind];
      first = new (frame) Free{first};
    } else {
      ::operator delete(frame);
    }
  }

 private:
  struct Free {
    Free *next;
  };
  static constexpr std::size_t STEP = 64, KINDS = 32;
#ifdef __SANITIZE_ADDRESS__
  static constexpr bool KEEPS = false;  // or the use of a frame after its end would stay hidden
#else
  static constexpr bool KEEPS = true;
#endif

  // The frames of one thread, freed when it ends.
  struct Kept {
    Free *first[KINDS] = {};
    ~Kept() {
      for (Free *frame : first)
        while (frame) {
          Free *next = frame->next;
          ::operator delete(frame);
          frame = next;
        }
    }
  };

  static Kept &kept() {
    static thread_local Kept own;
    return own;
  }
};

}  // namespace tasksim
