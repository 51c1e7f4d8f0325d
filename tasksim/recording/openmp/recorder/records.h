// The records that the recorder writes, 16 bytes each, and the files that they are in.
//
// A thread has a file of its own, `thread-N`: a header, then records in the order of their events,
// then zeros. The first byte of a record is its type and is written last: a process that is killed
// leaves no half record. Python reads them in recording/openmp/trace.py.
#pragma once

#include <cstdint>

namespace tasksim::ompt {

struct Record {
  std::uint64_t head;  // type in bits 0 to 7
  std::uint64_t body;
};
static_assert(sizeof(Record) == 16);

struct Header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t thread;
  std::uint64_t start_ns;  // of CLOCK_MONOTONIC, when the recorder started
  std::uint64_t system_thread;
};
static_assert(sizeof(Header) % sizeof(Record) == 0);

constexpr char MAGIC[8] = {'t', 's', 'O', 'M', 'P', 'T', '\r', '\n'};
constexpr std::uint32_t FORMAT_VERSION = 1;

// Times are nanoseconds since the thread's record before: those of the wall clock in bits 0 to 31 of
// the word, those of the thread's processor clock in bits 32 to 63. "Times" below is such a word.
enum Type : std::uint64_t {
  // Absolute times, where 32 bits do not hold the difference: wall in bits 8 to 63, processor in
  // the body.
  CLOCKS = 1,
  // A task is created: flags in bits 8 to 15, site in 16 to 31, wall time since the record before
  // in 32 to 63; the creating task is the body. Its number is the thread's next.
  CREATE = 2,
  // One or two dependences of the task that was created last, or that DEPENDENCES_OF names: kinds
  // in bits 8 to 11 and 12 to 15, addresses of 48 bits in the upper bits of both words.
  DEPENDENCE_PAIR = 3,
  // A dependence with an address of 64 bits, the body; its kind in bits 8 to 11.
  DEPENDENCE = 4,
  DEPENDENCES_OF = 5,  // the task is the body
  // The thread leaves its task: its status in bits 8 to 15, the next task in 16 to 63; times. Of a
  // detached task that is fulfilled, and of a taskwait with dependences that has ended, the task
  // itself in 16 to 63, and the thread goes on.
  SCHEDULE = 6,
  // Begin or end (bits 8 to 11) of a synchronisation, its kind in 12 to 15, the task in 16 to 63;
  // times. Kinds are OpenMP's own, and 15 is the wait at the end of a taskgroup.
  SYNC = 7,
  // Begin or end (bits 8 to 11) of an implicit task, whether it is an initial one in 12, the task
  // in 16 to 63; times.
  IMPLICIT = 8,
  // After the beginning of an implicit task: its place in the team in bits 8 to 31, the size of
  // the team in 32 to 55; the parallel region is the body.
  TEAM = 9,
  // Begin or end (bits 8 to 11) of a parallel region, which is in 16 to 63; times.
  PARALLEL = 10,
  // After the beginning of a parallel region: its site in bits 16 to 31; the encountering task is
  // the body.
  ENCOUNTERED = 11,
  // Begin or end (bits 8 to 11) of work that is shared, its kind in 12 to 15, site in 16 to 31, wall
  // time since the record before in 32 to 63; the body is the number of iterations.
  WORK = 12,
  CANCEL = 13,  // flags in bits 32 to 63; the task is the body
  // The pulse and the beat of the thread's core (core/native/pulse.h), relative to an idle core, in
  // the lower and the upper half of the body, at the time of the record before.
  PULSE = 14,
};

// Flags of CREATE.
enum CreateFlag : std::uint64_t {
  IS_UNDEFERRED = 1,
  IS_UNTIED = 2,
  IS_FINAL = 4,
  IS_MERGEABLE = 8,
  IS_MERGED = 16,
  IS_TASKWAIT = 32,
  HAS_DEPENDENCES = 64,
  IS_TARGET = 128,
};

// A task or a parallel region has the number of the thread that made it in bits 36 to 47, and below
// that which of the thread's it is, from 1 on.
constexpr int THREAD_SHIFT = 36;
constexpr std::uint64_t MAX_THREADS = 4096;
constexpr std::uint64_t TASKGROUP_WAIT = 15;
// Site of what has none, or has no place in the table of sites.
constexpr std::uint64_t NO_SITE = 0xFFFF;

}  // namespace tasksim::ompt
