// What a thread of the program has of the recorder: its file, its clocks, its counts.
#pragma once

#include <sys/syscall.h>
#include <time.h>

#include <atomic>
#include <cstdint>

#include "files.h"

namespace tasksim::ompt {

inline std::uint64_t clock_ns(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(time.tv_nsec);
}

class Thread {
 public:
  Thread(const Folder& folder, unsigned number, std::uint64_t start_ns)
      : base_(static_cast<std::uint64_t>(number) << THREAD_SHIFT) {
    file_.name(folder, number);
    if (!grow()) return;
    Header header{};
    memcpy(header.magic, MAGIC, sizeof MAGIC);
    header.version = FORMAT_VERSION;
    header.thread = number;
    header.start_ns = start_ns;
    header.system_thread = static_cast<std::uint64_t>(syscall(SYS_gettid));
    memcpy(static_cast<void*>(next_), &header, sizeof header);
    next_ += sizeof header / sizeof(Record);
    wall_ns_ = clock_ns(CLOCK_MONOTONIC);
    cpu_ns_ = known_cpu_ns_ = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    known_wall_ns_ = wall_ns_;
    put(CLOCKS | wall_ns_ << 8, cpu_ns_);
  }

  // Whether there was room for all records so far.
  bool is_whole() const { return next_ != nullptr; }

  void put(std::uint64_t head, std::uint64_t body) {
    if (next_ == end_ && !grow()) return;
    next_->body = body;
    std::atomic_ref(next_->head).store(head, std::memory_order_release);
    ++next_;
  }

  // A record whose body are the times of both clocks. *ran* says that the thread executed a task
  // since its last record, and did not wait or look for one.
  void put_times(std::uint64_t head, bool ran) {
    const std::uint64_t wall_ns = clock_ns(CLOCK_MONOTONIC);
    std::uint64_t cpu_ns = known_cpu_ns_ + (wall_ns - known_wall_ns_);
    if (wall_ns - wall_ns_ > (ran ? ASSUMED_RUNNING_NS : ASSUMED_AWAKE_NS) ||
        wall_ns - known_wall_ns_ > LONGEST_ASSUMED_NS) {
      cpu_ns = known_cpu_ns_ = clock_ns(CLOCK_THREAD_CPUTIME_ID);
      known_wall_ns_ = wall_ns;
    }
    if (cpu_ns < cpu_ns_) cpu_ns = cpu_ns_;
    const std::uint64_t wall = wall_ns - wall_ns_, cpu = cpu_ns - cpu_ns_;
    wall_ns_ = wall_ns;
    cpu_ns_ = cpu_ns;
    if ((wall | cpu) >> 32) {
      put(CLOCKS | wall_ns << 8, cpu_ns);
      put(head, 0);
    } else {
      put(head, wall | cpu << 32);
    }
  }

  // A record with the wall time in its upper 32 bits.
  void put_wall(std::uint64_t head, std::uint64_t body) {
    const std::uint64_t wall_ns = clock_ns(CLOCK_MONOTONIC);
    std::uint64_t wall = wall_ns - wall_ns_;
    wall_ns_ = wall_ns;
    if (wall >> 32) {
      put(CLOCKS | wall_ns << 8, cpu_ns_);
      wall = 0;
    }
    put(head | wall << 32, body);
  }

  std::uint64_t new_task() { return base_ | ++tasks_; }
  std::uint64_t new_region() { return base_ | ++regions_; }
  std::uint64_t last_task() const { return base_ | tasks_; }

  void release() { file_.release(); }

  // Where the program has the taskloop that this thread makes tasks of; null outside of one. Of
  // those that GCC compiled, libomp tells an address of its own.
  const void* taskloop = nullptr;

 private:
  // A reading of the processor clock costs a system call, as much as all else that is done for a
  // task. Between two readings the thread is taken to have had its core, as long as these bounds
  // hold: of a stretch of a task, as other programs take a core for longer; of a wait, in which a
  // thread may sleep; and of all since the last reading.
  static constexpr std::uint64_t ASSUMED_RUNNING_NS = 100'000;
  static constexpr std::uint64_t ASSUMED_AWAKE_NS = 5'000;
  static constexpr std::uint64_t LONGEST_ASSUMED_NS = 200'000;

  bool grow() {
    size_t size = 0;
    char* part = file_.next_part(size);
    next_ = reinterpret_cast<Record*>(part);
    end_ = part ? next_ + size / sizeof(Record) : nullptr;
    return part != nullptr;
  }

  Record* next_ = nullptr;
  Record* end_ = nullptr;
  std::uint64_t wall_ns_ = 0, cpu_ns_ = 0;
  std::uint64_t known_wall_ns_ = 0, known_cpu_ns_ = 0;
  std::uint64_t base_;
  std::uint64_t tasks_ = 0, regions_ = 0;
  MappedFile file_;
};

}  // namespace tasksim::ompt
