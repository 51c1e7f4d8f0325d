// The processor time of a thread, which mostly needs no system call.
//
// While a thread keeps its core, its processor time goes on as the wall clock does. Linux tells
// whether it kept it: a thread has an area that it shares with the kernel (restartable sequences,
// rseq), with a pointer to the range of code that must not be interrupted. When the thread returns
// from having lost its core, or from a signal, and was not in that range, the kernel clears the
// pointer. So a pointer to a range in which no thread ever is stays as long as the thread has its
// core.
#pragma once

#include <dlfcn.h>
#include <sys/mman.h>
#include <time.h>

#include <atomic>
#include <cstdint>

namespace tasksim::ompt {

inline std::uint64_t clock_ns(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(time.tv_nsec);
}

// Whether threads lose their cores, as the kernel tells it. One for the process.
class CoreWatch {
 public:
  // Makes the range that no thread is ever in. Called once, before other calls.
  //
  // The C library (glibc from 2.35 on) has registered the areas, and tells where they are. Another
  // user of them, such as an allocator, overwrites the pointer: that counts as a lost core.
  void prepare() {
#if defined(__x86_64__) && defined(__linux__)
    const auto* size = static_cast<const unsigned*>(dlsym(RTLD_DEFAULT, "__rseq_size"));
    const auto* offset = static_cast<const std::ptrdiff_t*>(dlsym(RTLD_DEFAULT, "__rseq_offset"));
    if (!size || !offset || *size == 0) return;
    // Never unmapped: threads may outlive this library, and the kernel ends a process whose pointer
    // leads nowhere.
    void* mapped = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                        -1, 0);
    if (mapped == MAP_FAILED) return;
    auto* page = static_cast<Page*>(mapped);
    page->start = reinterpret_cast<std::uintptr_t>(&page->nowhere);
    page->length = 1;
    page->signature = SIGNATURE;
    page->abort = reinterpret_cast<std::uintptr_t>(&page->after_signature);
    range_ = reinterpret_cast<std::uintptr_t>(page);
    offset_ = *offset;
    // A kernel that looks at the range only after interrupts says nothing of threads that slept.
    watch();
    const timespec shortest{0, 1};
    nanosleep(&shortest, nullptr);
    if (kept()) range_ = 0;
#endif
  }

  // Whether the other two calls tell anything.
  bool works() const { return range_ != 0; }

  // Begins to watch the calling thread.
  void watch() const {
    pointer().store(range_, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);  // clocks are read after it
  }

  // Whether the calling thread had its core ever since it called `watch`.
  bool kept() const {
    std::atomic_signal_fence(std::memory_order_seq_cst);  // clocks are read before it
    return pointer().load(std::memory_order_relaxed) == range_;
  }

 private:
  static constexpr std::uint32_t SIGNATURE = 0x53053053;  // that of glibc on x86-64

  // The kernel's struct rseq_cs, and what its addresses lead to.
  struct Page {
    std::uint32_t version, flags;  // both 0
    std::uint64_t start, length, abort;
    std::uint32_t nowhere;
    std::uint32_t signature;  // right before the address to go on at, or the process is ended
    std::uint32_t after_signature;
  };

  // The field rseq_cs of the thread's area.
  std::atomic_ref<std::uint64_t> pointer() const {
    std::uintptr_t thread = 0;
#if defined(__x86_64__)
    asm("mov %%fs:0, %0" : "=r"(thread));
#endif
    const std::uintptr_t area = thread + static_cast<std::uintptr_t>(offset_);
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(area + FIELD_BYTES));
  }

  static constexpr std::uintptr_t FIELD_BYTES = 8;  // place of rseq_cs in the area

  std::uint64_t range_ = 0;
  std::ptrdiff_t offset_ = 0;
};

// The two clocks of one thread; only that calls it.
class ProcessorClock {
 public:
  explicit ProcessorClock(const CoreWatch& watch) : watch_(watch) {
    wall_ns_ = clock_ns(CLOCK_MONOTONIC);
    cpu_ns_ = read(wall_ns_);
  }

  std::uint64_t wall_ns() const { return wall_ns_; }
  std::uint64_t cpu_ns() const { return cpu_ns_; }

  // Moves the wall clock on, and leaves the other one.
  void look_at_wall() { wall_ns_ = clock_ns(CLOCK_MONOTONIC); }

  // Moves both clocks on. *ran* says that the thread executed a task since the last look, and did
  // not wait or look for one.
  void look(bool ran) {
    const std::uint64_t wall_ns = clock_ns(CLOCK_MONOTONIC);
    const std::uint64_t cpu_ns = keeps_core(wall_ns, ran) ? known_cpu_ns_ + (wall_ns - known_wall_ns_)
                                                          : read(wall_ns);
    wall_ns_ = wall_ns;
    if (cpu_ns > cpu_ns_) cpu_ns_ = cpu_ns;
  }

 private:
  // Longest stretch of a task without a reading. Where the kernel does not tell, other programs
  // take a core for longer; where it does, the host of a virtual machine may.
  static constexpr std::uint64_t ASSUMED_RUNNING_NS = 100'000;
  // Longest wait without a reading, if the kernel does not tell: a thread that waits may sleep.
  static constexpr std::uint64_t ASSUMED_AWAKE_NS = 5'000;
  // Longest time between two readings. Interrupts and the host take a little of each.
  static constexpr std::uint64_t LONGEST_WATCHED_NS = 1'000'000;
  static constexpr std::uint64_t LONGEST_ASSUMED_NS = 200'000;

  bool keeps_core(std::uint64_t wall_ns, bool ran) const {
    const std::uint64_t stretch_ns = wall_ns - wall_ns_, unread_ns = wall_ns - known_wall_ns_;
    if (stretch_ns > ASSUMED_RUNNING_NS) return false;
    if (watch_.works()) return unread_ns <= LONGEST_WATCHED_NS && watch_.kept();
    return unread_ns <= LONGEST_ASSUMED_NS && (ran || stretch_ns <= ASSUMED_AWAKE_NS);
  }

  // Reads the processor clock, a system call that costs as much as all else that is done for a task.
  std::uint64_t read(std::uint64_t wall_ns) {
    if (watch_.works()) watch_.watch();
    known_wall_ns_ = wall_ns;
    return known_cpu_ns_ = clock_ns(CLOCK_THREAD_CPUTIME_ID);
  }

  const CoreWatch& watch_;
  std::uint64_t wall_ns_ = 0, cpu_ns_ = 0;
  std::uint64_t known_wall_ns_ = 0, known_cpu_ns_ = 0;
};

}  // namespace tasksim::ompt
