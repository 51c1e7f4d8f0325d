// Tells a thread that it lost its core, without a system call.
#pragma once

#if defined(__linux__) && __has_include(<sys/rseq.h>) && __has_builtin(__builtin_thread_pointer)
#include <sys/rseq.h>
#include <time.h>
#endif

#include <cstdint>

namespace tasksim {

// Watches whether the system takes the core from a thread; only this thread calls it.
//
// Linux restarts a sequence of instructions ("restartable sequence", rseq.2) of a thread that lost
// its core within it. A thread that lost it elsewhere finds only that its pointer to the sequence
// is null. So the thread points to a sequence that it never enters.
class CoreWatch {
 public:
  // Called at the start of the thread.
  void begin() {
#if defined(RSEQ_SIG)
    static const bool tells = tells_of_sleep();
    if (!tells) return;
    state_ = of_this_thread();
    state_->rseq_cs = sequence();
#endif
  }

  // Whether it is known if the thread lost its core.
  bool knows() const { return state_ != nullptr; }

  // Whether the thread lost its core since the last call; false if it is not known.
  bool lost() {
#if defined(RSEQ_SIG)
    // A library may have a sequence of its own: it, too, replaces the pointer.
    if (!state_ || state_->rseq_cs == sequence()) return false;
    state_->rseq_cs = sequence();
    return true;
#else
    return false;
#endif
  }

  // Called at the end of the thread: the sequence may be unloaded before the thread ends.
  void end() {
#if defined(RSEQ_SIG)
    if (state_) state_->rseq_cs = 0;
    state_ = nullptr;
#endif
  }

 private:
#if defined(RSEQ_SIG)
  // The system ends a program if there is no signature before the place at which it would go on.
  struct alignas(32) Sequence {
    rseq_cs description{};
    std::uint32_t first[7]{};
    std::uint32_t signature = RSEQ_SIG;
    std::uint32_t go_on[8]{};

    Sequence() {
      description.start_ip = reinterpret_cast<std::uintptr_t>(first);
      description.post_commit_offset = 1;
      description.abort_ip = reinterpret_cast<std::uintptr_t>(go_on);
    }
  };

  static std::uintptr_t sequence() {
    static Sequence never_entered;
    return reinterpret_cast<std::uintptr_t>(&never_entered.description);
  }

  // Null if the C library has not agreed on restartable sequences with the system.
  static volatile rseq *of_this_thread() {
    if (!__rseq_size) return nullptr;
    char *thread = static_cast<char *>(__builtin_thread_pointer());
    return reinterpret_cast<volatile rseq *>(thread + __rseq_offset);
  }

  // Some systems (Linux 6.19) leave the pointer if a thread lost its core in a system call.
  static bool tells_of_sleep() {
    volatile rseq *state = of_this_thread();
    if (!state) return false;
    state->rseq_cs = sequence();
    const timespec shortest{0, 1};
    nanosleep(&shortest, nullptr);
    const bool told = state->rseq_cs != sequence();
    state->rseq_cs = 0;
    return told;
  }

  volatile rseq *state_ = nullptr;
#else
  const void *state_ = nullptr;
#endif
};

}  // namespace tasksim
