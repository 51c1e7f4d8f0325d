// The recorder: a tool that an OpenMP runtime loads (OMP_TOOL_LIBRARIES) and tells of tasks.
//
// It writes what it is told to files in the folder $TASKSIM_OMPT_FOLDER, without locks. Nothing in
// it prints, allocates per task, or keeps the program from ending as it likes.
#include <pthread.h>
#include <stdlib.h>

#include <new>

#include "ompt.h"
#include "records.h"
#include "sites.h"
#include "thread.h"

namespace tasksim::ompt {
namespace {

Folder folder;
Sites sites;
CoreWatch watch;
Reading idle{0.0, 0.0};
std::uint64_t start_ns = 0;
std::atomic<bool> is_on{false};
std::atomic<unsigned> threads{0};
std::atomic<bool> has_said_full{false};
std::atomic<bool> has_said_fork{false};

// The first access of a thread must not allocate: a signal may have interrupted malloc.
[[gnu::tls_model("initial-exec")]] thread_local Thread* own = nullptr;
[[gnu::tls_model("initial-exec")]] thread_local bool is_refused = false;

void stop_as_full(const char* why) {
  is_on = false;
  if (!has_said_full.exchange(true)) folder.say("notes", "full\t%s", why);
}

Thread* new_thread() {
  if (is_refused) return nullptr;
  const unsigned number = threads.fetch_add(1);
  if (number >= MAX_THREADS) {
    is_refused = true;
    stop_as_full("it had more than 4096 threads");
    return nullptr;
  }
  own = new (std::nothrow) Thread(folder, watch, idle, number, start_ns);
  if (!own) stop_as_full("no memory was left");
  return own;
}

// The thread's recorder; null if nothing is recorded.
inline Thread* here() {
  if (!is_on.load(std::memory_order_relaxed)) return nullptr;
  Thread* thread = own ? own : new_thread();
  if (thread && !thread->is_whole()) {
    stop_as_full(strerror(errno));
    return nullptr;
  }
  return thread;
}

inline std::uint64_t bits(std::uint64_t value, int from) { return value << from; }
inline std::uint64_t of(const Data* data) { return data ? data->value : 0; }

void on_thread_end(Data*) {
  if (!own) return;
  own->release();
  delete own;
  own = nullptr;
  is_refused = true;  // nothing comes after its end
}

void on_parallel_begin(Data* task, const Frame* frame, Data* region, unsigned, int, const void* code) {
  if (Thread* t = here()) {
    region->value = t->new_region();
    // libomp gives the regions of a teams construct a place of its own.
    code = sites.outside(sites.called_from(frame, code));
    t->put_times(PARALLEL | bits(BEGIN, 8) | bits(region->value, 16), true);
    t->put(ENCOUNTERED | bits(sites.number(folder, code), 16), of(task));
  }
}

void on_parallel_end(Data* region, Data*, int, const void*) {
  if (Thread* t = here()) t->put_times(PARALLEL | bits(END, 8) | bits(of(region), 16), false);
}

void on_implicit_task(int endpoint, Data* region, Data* task, unsigned size, unsigned place,
                      int flags) {
  Thread* t = here();
  if (!t) return;
  if (endpoint == BEGIN && task) task->value = t->new_task();
  t->put_times(IMPLICIT | bits(static_cast<unsigned>(endpoint), 8) |
                   bits((flags & INITIAL) != 0, 12) | bits(of(task), 16),
               false);
  if (endpoint == BEGIN)
    t->put(TEAM | bits(place & 0xFFFFFF, 8) | bits(size & 0xFFFFFF, 32), of(region));
}

void on_task_create(Data* parent, const Frame* frame, Data* task, int flags, int has_dependences,
                    const void* code) {
  const auto given = static_cast<unsigned>(flags);
  if (given & INITIAL) return;  // told as an implicit task, too
  Thread* t = here();
  if (!t) return;
  task->value = t->new_task();
  std::uint64_t kept = 0;
  if (given & UNDEFERRED) kept |= IS_UNDEFERRED;
  if (given & UNTIED) kept |= IS_UNTIED;
  if (given & FINAL) kept |= IS_FINAL;
  if (given & MERGEABLE) kept |= IS_MERGEABLE;
  if (given & MERGED) kept |= IS_MERGED;
  if (given & TASKWAIT) kept |= IS_TASKWAIT;
  if (given & TARGET) kept |= IS_TARGET;
  code = t->taskloop ? t->taskloop : sites.called_from(frame, code);
  // libomp gives GCC's undeferred tasks with depend clauses a place of its own.
  if (kept & IS_UNDEFERRED) code = sites.outside(code);
  if (has_dependences) kept |= HAS_DEPENDENCES;
  t->put_wall(CREATE | bits(kept, 8) | bits(sites.number(folder, code), 16), of(parent));
}

// The kind of a dependence in four bits: OpenMP's own number, or 8 and 9 for "out" and "inout" of
// all memory.
std::uint64_t kind_of(int kind) {
  if (kind == 34 || kind == 35) return static_cast<std::uint64_t>(kind - 26);
  return kind > 0 && kind < 8 ? static_cast<std::uint64_t>(kind) : 15;
}

void on_dependences(Data* task, const Dependence* all, int count) {
  Thread* t = here();
  if (!t || !all) return;
  if (of(task) != t->last_task()) t->put(DEPENDENCES_OF, of(task));
  for (int k = 0; k < count;) {
    const std::uint64_t one = all[k].variable.value, kind = kind_of(all[k].kind);
    const std::uint64_t other = k + 1 < count ? all[k + 1].variable.value : 0;
    if ((one | other) >> 48) {
      t->put(DEPENDENCE | bits(kind, 8), one);
      ++k;
      continue;
    }
    const std::uint64_t next = k + 1 < count ? kind_of(all[k + 1].kind) : 0;
    t->put(DEPENDENCE_PAIR | bits(kind, 8) | bits(next, 12) | bits(one, 16), bits(other, 16));
    k += 2;
  }
}

void on_task_schedule(Data* before, int status, Data* next) {
  Thread* t = here();
  if (!t) return;
  // With these the thread goes on as before, and what matters is whose event it is.
  const bool stays =
      status == EARLY_FULFILL || status == LATE_FULFILL || status == TASKWAIT_COMPLETE;
  t->put_times(SCHEDULE | bits(static_cast<unsigned>(status) & 0xFF, 8) |
                   bits(of(stays ? before : next), 16),
               status == COMPLETE);
}

void on_sync_region(int kind, int endpoint, Data*, Data* task, const void*) {
  if (Thread* t = here())
    t->put_times(SYNC | bits(static_cast<unsigned>(endpoint), 8) |
                     bits(static_cast<unsigned>(kind) & 0xF, 12) | bits(of(task), 16),
                 endpoint == BEGIN);
}

void on_sync_region_wait(int kind, int endpoint, Data*, Data* task, const void*) {
  if (kind != TASKGROUP) return;  // of others, the wait is all there is
  if (Thread* t = here())
    t->put_times(SYNC | bits(static_cast<unsigned>(endpoint), 8) | bits(TASKGROUP_WAIT, 12) |
                     bits(of(task), 16),
                 endpoint == BEGIN);
}

void on_work(int kind, int endpoint, Data*, Data*, std::uint64_t count, const void* code) {
  Thread* t = here();
  if (!t) return;
  if (kind == TASKLOOP) {
    t->taskloop = endpoint == BEGIN ? sites.caller() : nullptr;
    if (t->taskloop) code = t->taskloop;
  }
  t->put_wall(WORK | bits(static_cast<unsigned>(endpoint), 8) |
                    bits(static_cast<unsigned>(kind) & 0xF, 12) |
                    bits(sites.number(folder, code), 16),
                count);
}

void on_cancel(Data* task, int flags, const void*) {
  if (Thread* t = here()) t->put(CANCEL | bits(static_cast<unsigned>(flags), 32), of(task));
}

// A child of fork shares the mapped files: it must not write to them.
void after_fork_in_child() { is_on = false; }

void after_fork_in_parent() {
  if (is_on && !has_said_fork.exchange(true)) folder.say("notes", "fork\t");
}

int initialize(Lookup lookup, int, Data*) {
  const auto set = reinterpret_cast<SetCallback>(lookup("ompt_set_callback"));
  if (!set) return 0;
  const struct {
    int number;
    Callback callback;
    const char* name;
  } wanted[] = {
      {ON_THREAD_END, reinterpret_cast<Callback>(on_thread_end), "thread_end"},
      {ON_PARALLEL_BEGIN, reinterpret_cast<Callback>(on_parallel_begin), "parallel_begin"},
      {ON_PARALLEL_END, reinterpret_cast<Callback>(on_parallel_end), "parallel_end"},
      {ON_IMPLICIT_TASK, reinterpret_cast<Callback>(on_implicit_task), "implicit_task"},
      {ON_TASK_CREATE, reinterpret_cast<Callback>(on_task_create), "task_create"},
      {ON_DEPENDENCES, reinterpret_cast<Callback>(on_dependences), "dependences"},
      {ON_TASK_SCHEDULE, reinterpret_cast<Callback>(on_task_schedule), "task_schedule"},
      {ON_SYNC_REGION, reinterpret_cast<Callback>(on_sync_region), "sync_region"},
      {ON_SYNC_REGION_WAIT, reinterpret_cast<Callback>(on_sync_region_wait), "sync_region_wait"},
      {ON_WORK, reinterpret_cast<Callback>(on_work), "work"},
      {ON_CANCEL, reinterpret_cast<Callback>(on_cancel), "cancel"},
  };
  sites.know_runtime(reinterpret_cast<const void*>(lookup));
  pthread_atfork(nullptr, after_fork_in_parent, after_fork_in_child);
  watch.prepare();
  start_ns = clock_ns(CLOCK_MONOTONIC);
  is_on = true;
  for (const auto& each : wanted)
    if (set(each.number, each.callback) < SET_SOMETIMES)
      folder.say("notes", "lacks\t%s", each.name);
  folder.say("notes", "initialized\t");
  return 1;
}

void finalize(Data*) {
  if (!is_on.exchange(false)) return;
  folder.say("notes", "finalized\t%llu",
             static_cast<unsigned long long>(clock_ns(CLOCK_MONOTONIC)));
}

}  // namespace
}  // namespace tasksim::ompt

// The runtime asks this when it starts. Only the process that was started to be recorded says yes:
// others inherit the environment.
extern "C" __attribute__((visibility("default"))) tasksim::ompt::StartResult* ompt_start_tool(
    unsigned version, const char* runtime) {
  using namespace tasksim::ompt;
  static StartResult result{initialize, finalize, {0}};
  const char* where = getenv("TASKSIM_OMPT_FOLDER");
  const char* parent = getenv("TASKSIM_OMPT_PARENT");
  if (!where || !parent || strlen(where) >= sizeof folder.path) return nullptr;
  strcpy(folder.path, where);
  // Without it, nothing is known of an idle core, and no pulses are taken.
  if (const char* known = getenv("TASKSIM_OMPT_IDLE"))
    if (sscanf(known, "%lf %lf", &idle.pulse, &idle.beat_s) != 2) idle.pulse = 0.0;
  if (atol(parent) != static_cast<long>(getppid()) || !folder.claim()) {
    folder.say("notes", "other\t%ld", static_cast<long>(getpid()));
    return nullptr;
  }
  folder.say("notes", "started\t%u\t%s", version, runtime ? runtime : "");
  return &result;
}
