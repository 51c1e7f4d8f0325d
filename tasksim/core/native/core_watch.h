// Whether threads lose their cores, without a system call.
//
// Linux tells: a thread has an area that it shares with the kernel (restartable sequences, rseq),
// with a pointer to the range of code that must not be interrupted. When the thread returns from
// having lost its core, or from a signal, and was not in that range, the kernel clears the pointer.
// So a pointer to a range in which no thread ever is stays as long as the thread has its core.
#pragma once

#if defined(__x86_64__) && defined(__linux__)
#include <dlfcn.h>
#include <sys/mman.h>
#include <time.h>
#endif

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tasksim {

// One for the process, as its threads may all point to the same range.
class CoreWatch {
 public:
  // Makes the range that no thread is ever in. Called once, before other calls.
  //
  // The C library (glibc from 2.35 on) has registered the areas, and tells where they are. Another
  // user of them, such as an allocator, overwrites the pointer: that counts as a lost core.
  void prepare() {
#if defined(__x86_64__) && defined(__linux__)
    const auto *size = static_cast<const unsigned *>(dlsym(RTLD_DEFAULT, "__rseq_size"));
    const auto *offset = static_cast<const std::ptrdiff_t *>(dlsym(RTLD_DEFAULT, "__rseq_offset"));
    if (!size || !offset || *size == 0) return;
    // Never unmapped: threads may outlive this library, and the kernel ends a process whose pointer
    // leads nowhere.
    void *mapped = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                        -1, 0);
    if (mapped == MAP_FAILED) return;
    auto *page = static_cast<Page *>(mapped);
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
    *pointer() = range_;
    std::atomic_signal_fence(std::memory_order_seq_cst);  // clocks are read after it
  }

  // Whether the calling thread had its core ever since it called `watch`.
  bool kept() const {
    std::atomic_signal_fence(std::memory_order_seq_cst);  // clocks are read before it
    return *pointer() == range_;
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
  volatile std::uint64_t *pointer() const {
    std::uintptr_t thread = 0;
#if defined(__x86_64__) && defined(__linux__)
    asm("mov %%fs:0, %0" : "=r"(thread));
#endif
    const std::uintptr_t area = thread + static_cast<std::uintptr_t>(offset_);
    return reinterpret_cast<volatile std::uint64_t *>(area + FIELD_BYTES);
  }

  static constexpr std::uintptr_t FIELD_BYTES = 8;  // place of rseq_cs in the area

  std::uint64_t range_ = 0;
  std::ptrdiff_t offset_ = 0;
};

}  // namespace tasksim
