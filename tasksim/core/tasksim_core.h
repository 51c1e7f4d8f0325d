// The C interface of the compiled core: plain structures of arrays, for ctypes.
//
// Whoever calls keeps all arrays alive and unchanged until the object made of them is freed. All
// are checked before they are used: what is out of range is refused, whatever it is.
#ifndef TASKSIM_CORE_H
#define TASKSIM_CORE_H

#include <stddef.h>
#include <stdint.h>

// To be raised whenever a declaration below changes; tasksim/core/library.py expects the same.
#define TASKSIM_CORE_VERSION 16

#if defined(__GNUC__)
#define TASKSIM_API __attribute__((visibility("default")))
#else
#define TASKSIM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

// What a call has come to. Messages are made by the caller, who knows the names of things.
enum tasksim_status {
  TASKSIM_DONE = 0,
  TASKSIM_MORE = 1,          // the run goes on: call tasksim_replay_go_on again
  TASKSIM_BAD_ARRAYS = 2,    // something given is out of range
  TASKSIM_NO_MEMORY = 3,
  TASKSIM_DROPPED = 4,       // the clock has stopped, and tasks are left
  TASKSIM_ILLEGAL_POP = 5,   // `task` was given to `worker`, which must not have it
  TASKSIM_LIVELOCK = 6,      // `number` pops gave nothing while nothing else happened
  TASKSIM_STUCK = 7,         // no room was found for the data of `task`, in memory `worker`
  TASKSIM_TOO_LARGE = 8,     // the data of `task` fit in the memory of no worker that can run it
  TASKSIM_NOBODY = 9,        // no worker can run `task`
  TASKSIM_CALLBACK = 10,     // a callback has failed; the caller knows how
  TASKSIM_UNKNOWN = 11,      // no such scheduler here
  TASKSIM_BUG = 12,          // a move that the engine must not make
  TASKSIM_TOO_LATE = 13,     // a time beyond what 64 bits of nanoseconds hold
  TASKSIM_KERNEL = 14,       // `task` has failed on `worker`; its function has told `number`
};

typedef struct {
  int64_t tasks, handles, kernels, hints, edges, accesses, waits;
  int64_t apart;                           // whether tasks take their data by number alone
  const int32_t *kernel, *priority;        // per task
  const int64_t *successor_ptr;            // tasks + 1
  const int32_t *successors;               // edges
  const int64_t *access_ptr;               // tasks + 1
  const int32_t *access_handle;            // accesses
  const int8_t *access_mode;               // graph/access_mode.py
  const int64_t *handle_size;              // bytes
  const int32_t *handle_home;
  const int32_t *hint_after, *hint_handle; // per hint
  // The tasks whose ends each hint waits for, and whether it drops a copy that was received; null:
  // those that write the datum last before it, where tasks are submitted by number.
  const int64_t *hint_ptr;                 // hints + 1
  const int32_t *hint_waits;               // waits
  const int8_t *hint_drops;                // per hint
} tasksim_graph;

typedef struct {
  int64_t workers, classes, memories, links;
  const int32_t *class_of, *memory_of, *node_of, *pipeline; // per worker; pipeline 0: a core
  const double *nominal_speed;                              // per worker: NOMINAL_SPEED of random
  double submission_s, task_s, wakeup_s;                    // the replay of one memory
  int64_t submission, task, wakeup, push, fetch, progress, kernel, copy; // ticks
  int64_t allocate, free;                                   // ticks
  double unit_bytes, chunk_bytes, largest_bytes, usable;
  double pin_s;                                             // per MiB of main memory
  const double *memory_bytes;                               // per memory; negative: no limit
  int64_t fetches, prefetches, idle, serialised;
  const double *fixed_s, *per_byte_s;                       // memories x memories: estimates
  const int8_t *direct;                                     // the same: a route with links
  const int32_t *path;                                      // the same: number of the path, or -1
  int64_t paths, path_links;
  const int64_t *path_latency;                              // per path, ticks
  const double *path_weight, *path_limit;
  const int64_t *path_ptr;                                  // paths + 1
  const int32_t *path_link, *path_times;                    // path_links
  const double *capacity;                                   // per link, bytes per tick
} tasksim_platform;

// Numbers and tables of a policy by name, as its file in core/schedulers asks for them.
typedef struct {
  const char *name;
  int64_t numbers;
  const char *const *number_names;
  const double *number_values;
  int64_t tables;
  const char *const *table_names;
  const int64_t *const *table_values;
  const int64_t *table_lengths;
  const uint32_t *twister;                 // 624 words and a position: Python's generator; null:
  uint64_t seed;                           // that of random.Random(seed)
} tasksim_scheduler;

// A scheduler that is no policy of the core. Callbacks return what is said, or less than -1 when
// they have failed. Those that it does not have are null.
typedef struct {
  int64_t (*attach)(void);
  int64_t (*push)(int64_t task);
  int64_t (*choose)(int64_t task);         // the worker chosen, -1: none is
  int64_t (*commit)(int64_t task);
  int64_t (*pop)(int64_t worker);          // a task, or -1
  int64_t (*started)(int64_t task, int64_t worker);
  int64_t (*finished)(int64_t task, int64_t worker);
} tasksim_callbacks;

// What the core needs of Python to call a scheduler written in it: functions of the interpreter, by
// address, as their declarations in Python.h have it with void * for each object. So one library
// serves all versions of Python, and needs none to be built.
typedef struct {
  void *(*call)(void *callable, void *const *given, size_t count, void *names);
  void *(*call_method)(void *name, void *const *given, size_t count, void *names);
  void *(*get_item)(void *list, void *key);
  void *(*type_of)(void *object);
  void *(*from_int)(long long number);
  void *(*from_double)(double number);
  long long (*as_int)(void *number, int *overflow);
  unsigned long long (*as_mask)(void *number);
  intptr_t (*as_index)(void *number, void *error);
  void *(*new_tuple)(intptr_t length);
  int (*set_tuple_item)(void *tuple, intptr_t place, void *item); // takes the reference to it
  void *(*new_function)(void *definition, void *self, void *module);
  void *(*new_capsule)(void *pointer, const char *name, void (*free)(void *capsule));
  void *(*capsule_pointer)(void *capsule, const char *name);
  void (*keep)(void *object);              // one reference more
  void (*let_go)(void *object);            // one less
  void *(*error)(void);                    // the one that is raised; null: none is
  void (*set_error)(void *kind, const char *message);
  void (*clear_error)(void);
  void *none, *yes, *no, *int_type, *index_error, *value_error, *runtime_error; // objects
} tasksim_python;

// A scheduler written in Python. Whoever gives it keeps all these objects while the replay runs, and
// the lists as long as the functions of its view.
typedef struct {
  void *scheduler;
  void *push, *pop;                        // names of its methods
  void *started, *finished;                // its methods, null: it has but the default
  void *choose;                            // (task): the worker chosen if that pushes, or -1
  void *commit;                            // (task)
  void *number;                            // (popped, worker): a task, of what is no plain one
  void *workers, *tasks, *handles, *memories; // a list of any things for each: wrong indices fail
                                              // in Python's words
} tasksim_called;

// How tasks slow each other down in domains of memory. All tasks of a kernel on an architecture are
// of one kind.
typedef struct {
  int64_t domains, kinds;
  const int32_t *domain_of;                // per worker, -1: in none
  const int32_t *kind_of;                  // classes x kernels
  const int64_t *curve_ptr;                // domains + 1
  const double *curve;                     // bytes/s that 1, 2, ... cores get of it together
  const double *demand, *share;            // per kind: bytes/s when alone; of its time, for memory
  const int64_t *beside_ptr;               // kinds x kinds + 1
  const double *beside;                    // stretch of a kind beside 1, 2, ... of another
} tasksim_contention;

typedef struct {
  const double *costs, *estimates;         // classes x tasks, seconds; infinite: cannot run it
  const double *reach_bytes, *far_s_per_byte; // the same; null: nothing is charged for far data
  const int8_t *alone;                     // classes x kernels: cannot be queued on a device
  const int64_t *submitted;                // per task, when it is submitted; null: by its cost
  const tasksim_contention *contention;    // of the replay of machines; null: nobody is slowed
  int64_t machine;                         // whether the replay is that of machines
  int64_t blind;                           // whether pushes of one instant do not see each other
  int64_t threads;                         // whether the workers are StarPU-SimGrid's threads
  int64_t uses_priorities, looks_at_data, chooses_apart, hears_started, hears_finished;
} tasksim_question;

// A node of a cluster, its part of the graph, who decides there. The tasks that workers run come
// first, communication behind them; estimates are those of the former, costs those of all.
typedef struct {
  const void *graph, *visible, *platform;  // objects of the core; of *visible*, only the former
  const tasksim_question *question;
  const tasksim_scheduler *scheduler;      // a policy of the core
  const int32_t *order;                    // per submission: the task
  const int32_t *message;                  // per communication task
  int64_t first_ready;                     // how many tasks wait for nothing, not even a message
} tasksim_member;

// Nodes, the network between them, and messages. Times are ticks; what is sent has the bytes that
// the network adds, and moves *factor* times its share of the links.
typedef struct {
  int64_t nodes;
  const tasksim_member *member;
  int64_t links, ways, uses, messages;
  const double *capacity;                  // per link, bytes per tick
  const double *way_limit, *way_weight;    // per way, which leads from one node to another
  const int64_t *way_ptr;                  // ways + 1
  const int32_t *use_link;                 // uses
  const double *use_of_byte;               // the same: what a byte takes of the link
  const int64_t *envelope_latency;         // per way; null: nothing is sent before the data
  double envelope_factor, envelope_bytes;
  int64_t in_flight;                       // so many messages at most are on their way from a node
  const int32_t *source, *target, *priority, *send, *receive, *way; // per message
  const int8_t *eager, *detached;          // the same: moves when sent; is sent when it moves
  const int64_t *latency;                  // the same
  const double *factor, *bytes;            // the same
  const int64_t *isend, *received;         // the same: what it costs a host; null: nothing
  const int8_t *lands;                     // the same: brings a datum to a node that does not own it
  int64_t cores;                           // that run the tasks of all nodes; 0: each worker's own
} tasksim_cluster;

typedef struct {
  int64_t worker, task, number;            // of what went wrong
  double now_s;
  int64_t events, evictions, copies, changes;
} tasksim_outcome;

// Columns to be filled; those that are null are left out. Times are in seconds.
typedef struct {
  double *submitted_s, *ready_s, *popped_s, *start_s, *end_s;
  int32_t *worker, *released_by;
  int8_t *state;
  double *cpu_s;                           // these two only of native runs that keep them
  int32_t *preemptions;
} tasksim_tasks;

// What a replay has come to, in few numbers.
typedef struct {
  double makespan_s;
  int64_t copies, copied_bytes, evictions;
} tasksim_totals;

// What was noted of copies and of the use of memories: columns of their own, as long as
// tasksim_outcome says. Times are in seconds.
typedef struct {
  const int32_t *handle, *task;
  const int16_t *source, *target;
  const double *requested_s, *start_s, *end_s;
  const int8_t *reason;
  const double *time_s;
  const int16_t *memory;
  const int64_t *used_bytes;
} tasksim_log;

TASKSIM_API int32_t tasksim_core_version(void);
TASKSIM_API const char *tasksim_core_sources(void);  // a digest of what it was made of
TASKSIM_API const char *tasksim_core_compiler(void); // what made it

// How a function of a native run tells that it has failed.
enum tasksim_tells {
  TASKSIM_TELLS_NOTHING = 0,
  TASKSIM_TELLS_RESULT = 1,  // it returns an int32_t, 0 if all went well
  TASKSIM_TELLS_LAST = 2,    // its last argument points to one, as LAPACK's info does
};

#define TASKSIM_MOST_ARGUMENTS 32
#define TASKSIM_MOST_REALS 8

// What the tasks of a native run call, without Python: functions by their addresses. Arguments are
// pointers, or integers in the place of one, first those of the task, then what the worker has of
// its own for this function; and real numbers, the last ones of the task, by their bits: a double's,
// or a float's in the lower half. These have registers of their own, so that their places among the
// others do not matter (System V's and ARM's conventions, up to eight). A task without a function is called back, with its number and that
// of its worker, and notes when it began and ended, as Python waits for its own lock; the answer is
// 0, or it has failed.
typedef struct {
  int64_t functions;
  void *const *address;                    // per function
  const int8_t *tells;                     // the same: enum tasksim_tells
  const int8_t *reals;                     // the same: how many of its arguments are real numbers
  const int32_t *function;                 // per task; -1: called back
  const int64_t *argument_ptr;             // tasks + 1
  void *const *arguments;
  const int64_t *own_ptr;                  // functions + 1
  void *const *own;                        // workers x own_ptr[functions]
  int32_t (*call_back)(int64_t task, int64_t worker, double *began_ended_s);
} tasksim_program;

// How often a kernel occurs, for a selective run: what its interval is divided by the root of.
enum tasksim_counts {
  TASKSIM_COUNTS_ONE = 0,
  TASKSIM_COUNTS_OWN = 1,      // its worker has met it so often
  TASKSIM_COUNTS_PATH = 2,     // it is on the path to the task so often
  TASKSIM_COUNTS_PROFILE = 3,  // it was on the path of a run before
  TASKSIM_COUNTS_SHARE = 4,    // by its share of the makespan, whatever else is not known
};

// A selective run: which tasks are executed, and what the others are charged. *count*, *mean_s* and
// *squares* are what is known of each kernel with its parameters, and what is measured is added. A
// kernel that fails on data which nobody has computed has them copied before it is called.
typedef struct {
  int64_t kernels, quantile_count, least, counts, spread, company, rehearse;
  double tolerance;
  const int32_t *of_task;     // its kernel, below `kernels`
  const double *quantiles;    // by degrees of freedom; [0] is not looked at
  int64_t *count;             // per kernel
  double *mean_s, *squares;
  const double *told_s;       // the same: what other sizes tell, 0 if that is nothing
  const int64_t *profile;
  const int64_t *safe_ptr;    // tasks + 1; null: nothing is copied
  void *const *safe_target;
  void *const *safe_source;
  const int64_t *safe_bytes;
} tasksim_selection;

// What a selective run has executed: tasks, and what those that were measured have taken.
typedef struct {
  int64_t executed, accompanied, skipped, rehearsed;
  double executed_s;
} tasksim_effort;

// Objects: made, used by as many replays as wanted, freed. Null and a status if they cannot be.
TASKSIM_API void *tasksim_graph_new(const tasksim_graph *given, int32_t *status);
TASKSIM_API void tasksim_graph_free(void *graph);
TASKSIM_API void *tasksim_platform_new(const tasksim_platform *given, int32_t *status);
TASKSIM_API void tasksim_platform_free(void *platform);

TASKSIM_API void *tasksim_replay_new(const void *graph, const void *platform,
                                     const tasksim_question *question,
                                     const tasksim_scheduler *scheduler,
                                     const tasksim_called *called, int32_t *status,
                                     tasksim_outcome *outcome);
// Goes on for at most so many events, and for some 20 ms: between two calls a user's interruption is
// heard.
TASKSIM_API int32_t tasksim_replay_go_on(void *replay, int64_t events);
TASKSIM_API void tasksim_replay_outcome(const void *replay, tasksim_outcome *outcome);
TASKSIM_API void tasksim_replay_tasks(const void *replay, const tasksim_tasks *columns);
// Takes what was noted out of the replay: *columns* are told where it is, until it is freed.
TASKSIM_API void *tasksim_replay_log(void *replay, tasksim_log *columns);
TASKSIM_API void tasksim_log_free(void *log);
// *taken_s*: a column to be filled, from its start to its end for each task.
TASKSIM_API void tasksim_replay_totals(const void *replay, double *taken_s,
                                       tasksim_totals *totals);
TASKSIM_API void tasksim_replay_free(void *replay);

// A replay of many nodes; it goes on and is freed as the others. Columns are those of one node's
// tasks, and per message when its data began to move, and when they had come, in ticks.
TASKSIM_API void *tasksim_cluster_new(const tasksim_cluster *given, int32_t *status,
                                      tasksim_outcome *outcome);
TASKSIM_API void tasksim_cluster_outcome(const void *replay, int64_t node, tasksim_outcome *outcome);
TASKSIM_API void tasksim_cluster_tasks(const void *replay, int64_t node,
                                       const tasksim_tasks *columns);
TASKSIM_API void *tasksim_cluster_log(void *replay, int64_t node, tasksim_log *columns);
TASKSIM_API void tasksim_cluster_messages(const void *replay, int64_t *started, int64_t *ended);

// Native runs: graph and platform on threads that the caller makes, which enter the core here.
// Either a policy of the core or callbacks; estimates are classes x tasks. With *spins* those who
// wait look for a while before they sleep, which is for threads that have a core each.
TASKSIM_API void *tasksim_native_new(const void *graph, const void *platform,
                                     const tasksim_program *program, const double *estimates,
                                     const tasksim_scheduler *scheduler,
                                     const tasksim_callbacks *callbacks, int32_t spins,
                                     int32_t *status);
TASKSIM_API int32_t tasksim_native_attach(void *run);
// Starts the clock: *origin_s* is now, on the system's monotonic one.
TASKSIM_API void tasksim_native_begin(void *run, double origin_s);
// The thread that submits: goes on for about so long, TASKSIM_MORE if it is to be called again,
// and then waits likewise. Between two calls a user's interruption is heard.
TASKSIM_API int32_t tasksim_native_submit(void *run, double patience_s);
TASKSIM_API int32_t tasksim_native_wait(void *run, double patience_s);
// From now on no worker begins another task.
TASKSIM_API void tasksim_native_stop(void *run);
// The end; TASKSIM_MORE if a scheduler that does not return has kept the lock for so long.
TASKSIM_API int32_t tasksim_native_finish(void *run, double patience_s);
// The thread of each worker: returns when the run is over.
TASKSIM_API int32_t tasksim_native_work(void *run, int64_t worker);
TASKSIM_API int64_t tasksim_native_left(void *run);  // tasks that are not done
// Tasks that no worker executes, but somebody outside: a flag per task, kept until the run is over,
// before attach.
TASKSIM_API void tasksim_native_outside(void *run, const int8_t *outside);
// For a thread outside: writes the tasks of its that were released, each once, and returns how many;
// -1 when the run is over. If there are none, it waits for some, for *busy_s* at most, or *idle_s* if
// a worker sleeps.
TASKSIM_API int64_t tasksim_native_handed_out(void *run, double busy_s, double idle_s,
                                              int32_t *tasks);
// Tells that such tasks have ended.
TASKSIM_API int32_t tasksim_native_completed(void *run, int64_t count, const int32_t *tasks,
                                             const double *start_s, const double *end_s);
// When all threads have left: what the run has come to, and what became of each task.
TASKSIM_API int32_t tasksim_native_outcome(void *run, tasksim_outcome *outcome);
TASKSIM_API void tasksim_native_tasks(void *run, const tasksim_tasks *columns);
TASKSIM_API void tasksim_native_free(void *run);
// For callbacks of a scheduler, while they are called: who sleeps (per worker), whose task has
// released the one being pushed (-1: none has), and wake-ups.
TASKSIM_API const int8_t *tasksim_native_sleepers(void *run);
TASKSIM_API int64_t tasksim_native_pusher(void *run);
TASKSIM_API void tasksim_native_wake(void *run, int64_t worker);
TASKSIM_API void tasksim_native_wake_any(void *run, int64_t task);
TASKSIM_API void tasksim_native_wake_all(void *run, int64_t task);

// Path records of a native run: kinds of its tasks, below *count*, kept until the run is freed; before
// it begins. Afterwards the record of the task that ended last: two columns of that length, and when
// it ended and how long was waited.
TASKSIM_API int32_t tasksim_native_keep_paths(void *run, const int32_t *kinds, int64_t count);
TASKSIM_API void tasksim_native_path(void *run, int64_t *counts, double *seconds,
                                     double *end_waited_s);

// Keeps the processor time of each task of a native run; before it begins.
TASKSIM_API void tasksim_native_keep_processor_times(void *run);

// Selective runs: as native runs, but every task has a function, and the scheduler is the core's.
TASKSIM_API void *tasksim_selective_new(const void *graph, const void *platform,
                                        const tasksim_program *program, const double *estimates,
                                        const tasksim_scheduler *scheduler,
                                        const tasksim_selection *selection, int32_t spins,
                                        int32_t *status);
TASKSIM_API int32_t tasksim_selective_attach(void *run);
TASKSIM_API void tasksim_selective_submit(void *run);
TASKSIM_API int32_t tasksim_selective_wait(void *run, double patience_s);
TASKSIM_API void tasksim_selective_stop(void *run);
TASKSIM_API int32_t tasksim_selective_work(void *run, int64_t worker);
TASKSIM_API int64_t tasksim_selective_left(void *run);
TASKSIM_API int32_t tasksim_selective_outcome(void *run, tasksim_outcome *outcome);
TASKSIM_API void tasksim_selective_tasks(void *run, const tasksim_tasks *columns);
TASKSIM_API void tasksim_selective_effort(void *run, tasksim_effort *effort);
TASKSIM_API void tasksim_selective_path(void *run, int64_t *counts, double *seconds,
                                        double *end_waited_s);
TASKSIM_API void tasksim_selective_free(void *run);

// A program whose tasks are called one by one; null and a status if it cannot be. A call notes when it
// began and ended, by the clock of native runs, and returns what its function tells; not of a task
// that would be called back.
TASKSIM_API void *tasksim_timed_new(const tasksim_program *program, int64_t tasks,
                                    int64_t workers, int32_t *status);
TASKSIM_API int64_t tasksim_timed_call(const void *timed, int64_t task, int64_t worker,
                                       double *began_ended_s);
TASKSIM_API void tasksim_timed_free(void *timed);

// Kernels that tasksim has itself. Tasks that only wait: for *duration_s*, or until the gate opens.
TASKSIM_API void *tasksim_gate_new(void);
TASKSIM_API void tasksim_gate_set(void *gate, int32_t open);
TASKSIM_API void tasksim_gate_free(void *gate);
TASKSIM_API void tasksim_wait(void *gate, const double *duration_s);
// LU of a tile without interchanging rows, by the routines lacpy, getrf, trsm and gemm.
TASKSIM_API void tasksim_getrf_float64(void *const *routines, const int32_t *n, double *a,
                                       const int32_t *lda, double *work, int32_t *info);
TASKSIM_API void tasksim_getrf_float32(void *const *routines, const int32_t *n, float *a,
                                       const int32_t *lda, float *work, int32_t *info);

// The following want Python's lock, and so does go_on of a replay whose scheduler is called: it
// returns TASKSIM_CALLBACK with Python's error set where a method has raised one.
TASKSIM_API void tasksim_python_is(const tasksim_python *given); // first of all; once is enough

// Who can run what, and how long it is believed to take: classes where data do not fit are out.
TASKSIM_API void tasksim_replay_seen(const void *replay, const uint64_t **able,
                                     const double **estimates);
// A capsule that frees the replay when Python lets go of it, instead of tasksim_replay_free.
TASKSIM_API void *tasksim_replay_owner(void *replay);
// A function of the view of a run, by name, for Python; null: there is none.
TASKSIM_API void *tasksim_replay_function(void *owner, const char *name);

#ifdef __cplusplus
}
#endif
#endif
