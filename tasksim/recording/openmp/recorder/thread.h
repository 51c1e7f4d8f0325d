// What a thread of the program has of the recorder: its file, its clocks, its counts.
#pragma once

#include <sys/syscall.h>

#include <atomic>
#include <bit>
#include <cstdint>

#include "../../../core/native/pulse.h"
#include "files.h"
#include "processor_clock.h"

namespace tasksim::ompt {

class Thread {
 public:
  // *idle*: the reading of a core that others leave alone; a pulse of 0: none are taken.
  Thread(const Folder& folder, const CoreWatch& watch, Reading idle, unsigned number,
         std::uint64_t start_ns)
      : clock_(watch), idle_(idle), base_(static_cast<std::uint64_t>(number) << THREAD_SHIFT) {
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
    clock_.look(false);
    put(CLOCKS | clock_.wall_ns() << 8, clock_.cpu_ns());
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
    const std::uint64_t wall_ns = clock_.wall_ns(), cpu_ns = clock_.cpu_ns();
    clock_.look(ran);
    const std::uint64_t wall = clock_.wall_ns() - wall_ns, cpu = clock_.cpu_ns() - cpu_ns;
    if ((wall | cpu) >> 32) {
      put(CLOCKS | clock_.wall_ns() << 8, clock_.cpu_ns());
      put(head, 0);
    } else {
      put(head, wall | cpu << 32);
    }
    if (idle_.pulse > 0.0 && clock_.wall_ns() - pulse_taken_ns_ >= PULSE_INTERVAL_NS) take_pulse();
  }

  // A record with the wall time in its upper 32 bits.
  void put_wall(std::uint64_t head, std::uint64_t body) {
    const std::uint64_t wall_ns = clock_.wall_ns();
    clock_.look_at_wall();
    std::uint64_t wall = clock_.wall_ns() - wall_ns;
    if (wall >> 32) {
      put(CLOCKS | clock_.wall_ns() << 8, clock_.cpu_ns());
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
  // A pulse takes 1.5 us, .15 % of this. They belong to what the thread does next.
  static constexpr std::uint64_t PULSE_INTERVAL_NS = 1'000'000;

  void take_pulse() {
    const Reading found = pulse_();
    const auto half = [](double value) {
      return std::uint64_t{std::bit_cast<std::uint32_t>(static_cast<float>(value))};
    };
    put(PULSE, half(found.pulse / idle_.pulse) | half(found.beat_s / idle_.beat_s) << 32);
    pulse_taken_ns_ = clock_.wall_ns();
  }

  bool grow() {
    size_t size = 0;
    char* part = file_.next_part(size);
    next_ = reinterpret_cast<Record*>(part);
    end_ = part ? next_ + size / sizeof(Record) : nullptr;
    return part != nullptr;
  }

  Record* next_ = nullptr;
  Record* end_ = nullptr;
  ProcessorClock clock_;
  Pulse pulse_;
  const Reading idle_;
  std::uint64_t pulse_taken_ns_ = 0;
  std::uint64_t base_;
  std::uint64_t tasks_ = 0, regions_ = 0;
  MappedFile file_;
};

}  // namespace tasksim::ompt
