// The C interface of the compiled core: plain structures of arrays, for ctypes.
//
// The caller keeps all arrays alive and unchanged until the object made of them is freed. All
// arrays are checked before they are used: values out of range are refused.
#ifndef TASKSIM_CORE_H
#define TASKSIM_CORE_H

#include <stddef.h>
#include <stdint.h>

// Raise this number whenever a declaration below changes; tasksim/core/library.py expects the same.
#define TASKSIM_CORE_VERSION 25

#if defined(__GNUC__)
#define TASKSIM_API __attribute__((visibility("default")))
#else
#define TASKSIM_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

// Status of a call. The caller, who knows the names of things, makes the messages.
enum tasksim_status {
  TASKSIM_DONE = 0,
  TASKSIM_MORE = 1,          // the run goes on: call tasksim_replay_go_on again
  TASKSIM_BAD_ARRAYS = 2,    // some input is out of range
  TASKSIM_NO_MEMORY = 3,
  TASKSIM_DROPPED = 4,       // the clock has stopped, and tasks are left
  TASKSIM_ILLEGAL_POP = 5,   // the scheduler gave `task` to `worker`, which must not have it
  TASKSIM_LIVELOCK = 6,      // `number` pops returned no task while nothing else happened
  TASKSIM_STUCK = 7,         // there is no room for the data of `task` in memory `worker`
  TASKSIM_TOO_LARGE = 8,     // the data of `task` fit in no memory of a worker that can run it
  TASKSIM_NOBODY = 9,        // no worker can run `task`
  TASKSIM_CALLBACK = 10,     // a callback has failed; the caller has the error
  TASKSIM_UNKNOWN = 11,      // there is no such scheduler here
  TASKSIM_BUG = 12,          // the engine has made an illegal move
  TASKSIM_TOO_LATE = 13,     // a time exceeds 64 bits of nanoseconds
  TASKSIM_KERNEL = 14,       // `task` failed on `worker`; its function returned `number`
};

typedef struct {
  int64_t tasks, handles, kernels, hints, edges, accesses, waits;
  int64_t apart;                           // whether tasks take their data in order of number alone
  const int32_t *kernel, *priority;        // per task
  const int64_t *successor_ptr;            // tasks + 1
  const int32_t *successors;               // edges
  const int64_t *access_ptr;               // tasks + 1
  const int32_t *access_handle;            // accesses
  const int8_t *access_mode;               // graph/access_mode.py
  const int64_t *handle_size;              // bytes
  const int32_t *handle_home;
  const int32_t *hint_after, *hint_handle; // per hint
  // The tasks whose ends each hint waits for, and whether it drops a received copy. Null: a hint
  // waits for the last writers of the datum before it, if tasks are submitted by number.
  const int64_t *hint_ptr;                 // hints + 1
  const int32_t *hint_waits;               // waits
  const int8_t *hint_drops;                // per hint
  const int8_t *at_once; // per task, whether its worker goes on to it at no cost; null: none
  int64_t starts;        // tasks that are the start of a worker, which is there for them
} tasksim_graph;

typedef struct {
  int64_t workers, classes, memories, links;
  const int32_t *class_of, *memory_of, *node_of, *pipeline; // per worker; pipeline 0: a core
  const double *nominal_speed;                              // per worker: NOMINAL_SPEED of random
  double submission_s, task_s, wakeup_s;                    // for the replay of one memory
  int64_t submission, task, wakeup, push, fetch, progress, kernel, copy, start; // ticks
  int64_t allocate, free;                                   // ticks
  double unit_bytes, chunk_bytes, largest_bytes, usable;
  double pin_s;                                             // per MiB of main memory
  const double *memory_bytes;                               // per memory; negative: unlimited
  int64_t fetches, prefetches, idle, serialised;
  const double *fixed_s, *per_byte_s;                       // memories x memories: for estimates
  const int8_t *direct;                                     // the same: whether a route has links
  const int32_t *path;                                      // the same: number of the path, or -1
  int64_t paths, path_links;
  const int64_t *path_latency;                              // per path, ticks
  const double *path_weight, *path_limit;
  const int64_t *path_ptr;                                  // paths + 1
  const int32_t *path_link, *path_times;                    // path_links
  const double *capacity;                                   // per link, bytes per tick
} tasksim_platform;

// Numbers and tables of a policy by name, as its file in core/schedulers reads them.
typedef struct {
  const char *name;
  int64_t numbers;
  const char *const *number_names;
  const double *number_values;
  int64_t tables;
  const char *const *table_names;
  const int64_t *const *table_values;
  const int64_t *table_lengths;
  const uint32_t *twister;                 // 624 words and a position of Python's generator; null:
  uint64_t seed;                           // the generator of random.Random(seed)
} tasksim_scheduler;

// A scheduler outside of the core. Callbacks return their result, or less than -1 if they fail.
// Callbacks that the scheduler does not have are null.
typedef struct {
  int64_t (*attach)(void);
  int64_t (*push)(int64_t task);
  int64_t (*choose)(int64_t task);         // the chosen worker, -1: none
  int64_t (*commit)(int64_t task);
  int64_t (*pop)(int64_t worker);          // a task, or -1
  int64_t (*started)(int64_t task, int64_t worker);
  int64_t (*finished)(int64_t task, int64_t worker);
} tasksim_callbacks;

// Functions of Python's interpreter by which the core calls a scheduler written in Python. Their
// addresses have the declarations of Python.h, with void * for each object. So one library serves
// all versions of Python, and needs none to be built.
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
  int (*set_tuple_item)(void *tuple, intptr_t place, void *item); // takes over the reference
  void *(*new_function)(void *definition, void *self, void *module);
  void *(*new_capsule)(void *pointer, const char *name, void (*free)(void *capsule));
  void *(*capsule_pointer)(void *capsule, const char *name);
  void (*keep)(void *object);              // adds a reference
  void (*let_go)(void *object);            // removes a reference
  void *(*error)(void);                    // the raised error; null: none
  void (*set_error)(void *kind, const char *message);
  void (*clear_error)(void);
  void *none, *yes, *no, *int_type, *index_error, *value_error, *runtime_error; // objects
} tasksim_python;

// A scheduler written in Python. The caller keeps all these objects alive while the replay runs,
// and the lists as long as the functions of its view.
typedef struct {
  void *scheduler;
  void *push, *pop;                        // names of its methods
  void *started, *finished;                // its methods; null: the default
  void *choose;                            // (task): the worker chosen if it pushes, or -1
  void *commit;                            // (task)
  void *number;                            // (popped, worker): the task in an object that is no int
  void *workers, *tasks, *handles, *memories; // a list of any objects for each: wrong indices fail
                                              // as in Python
} tasksim_called;

// Slowdown of tasks by each other in memory domains. All tasks of a kernel on an architecture are
// of one kind.
typedef struct {
  int64_t domains, kinds;
  const int32_t *domain_of;                // per worker; -1: in no domain
  const int32_t *kind_of;                  // classes x kernels
  const int64_t *curve_ptr;                // domains + 1
  const double *curve;                     // bytes/s that 1, 2, ... cores together get from it
  const double *demand, *share;            // per kind: bytes/s when alone; time share of memory
  const int64_t *beside_ptr;               // kinds x kinds + 1
  const double *beside;                    // stretch of a kind beside 1, 2, ... tasks of another
  int64_t numa;                            // whether memory is non-uniform; else without the rest
  int64_t placement;                       // of data: -1 by first touch, -2 over all, or a domain
  double cache_bytes;                      // per domain
  const double *ratio, *limit;             // domains x domains: cost of an access, bytes/s
  const double *room;                      // per domain, bytes of its memory
} tasksim_contention;

// Cost of far data: columns of classes x tasks. A datum is near up to a reuse distance, and far from
// another on.
typedef struct {
  const double *near_bytes, *reach_bytes;
  const double *read_s_per_byte, *written_s_per_byte; // of data only read; of data written
  const int32_t *cache_of;                 // per worker, its cache; null: all share one
} tasksim_far;

typedef struct {
  const double *costs, *estimates;         // classes x tasks, seconds; infinite: cannot run
  const tasksim_far *far;                  // null: far data cost nothing
  const int8_t *alone;                     // classes x kernels: cannot be queued on a device
  const int64_t *submitted;                // per task, time of its submission; null: by its cost
  const tasksim_contention *contention;    // for the replay of machines; null: no slowdown
  int64_t machine;                         // whether to replay machines
  int64_t blind;                           // whether simultaneous pushes ignore each other
  int64_t threads;                         // whether workers are threads of StarPU-SimGrid
  int64_t uses_priorities, looks_at_data, chooses_apart, hears_started, hears_finished;
  int64_t decisions;                       // whether to record the decisions of the scheduler
} tasksim_question;

// A node of a cluster: its part of the graph and its scheduler. The tasks of workers come first,
// communication after them; estimates are for the former, costs for all.
typedef struct {
  const void *graph, *visible, *platform;  // objects of the core; *visible* has only the former
  const tasksim_question *question;
  const tasksim_scheduler *scheduler;      // a policy of the core
  const int32_t *order;                    // per submission, its task
  const int32_t *message;                  // per communication task
  int64_t first_ready;                     // number of tasks without any condition or message
} tasksim_member;

// Nodes, the network between them, and messages. Times are ticks. The sizes of messages include the
// bytes that the network adds; data move at *factor* times their share of the links.
typedef struct {
  int64_t nodes;
  const tasksim_member *member;
  int64_t links, ways, uses, messages;
  const double *capacity;                  // per link, bytes per tick
  const double *way_limit, *way_weight;    // per way from one node to another
  const int64_t *way_ptr;                  // ways + 1
  const int32_t *use_link;                 // uses
  const double *use_of_byte;               // the same: bytes on the link per byte of data
  const int64_t *envelope_latency;         // per way; null: no envelope before the data
  double envelope_factor, envelope_bytes;
  int64_t in_flight;                       // most messages in flight from a node
  const int32_t *source, *target, *priority, *send, *receive, *way; // per message
  const int8_t *eager, *detached;          // the same: moves when sent; is sent when it moves
  const int64_t *latency;                  // the same
  const double *factor, *bytes;            // the same
  const int64_t *isend, *received;         // the same: cost for a host; null: none
  const int8_t *lands;                     // the same: brings a datum to a node without it
  int64_t cores;                           // for the tasks of all nodes; 0: each worker has its own
} tasksim_cluster;

typedef struct {
  int64_t worker, task, number;            // of the error
  double now_s;
  int64_t events, evictions, copies, changes;
} tasksim_outcome;

// Columns to fill; null columns are left out. Times are in seconds.
typedef struct {
  double *submitted_s, *ready_s, *popped_s, *start_s, *end_s;
  int32_t *worker, *released_by;
  int8_t *state;
  double *cpu_s;                           // these four only for native runs that keep them
  int32_t *preemptions;
  double *pulse, *beat;
} tasksim_tasks;

// Outcome of a replay, in a few numbers.
typedef struct {
  double makespan_s;
  int64_t copies, copied_bytes, evictions;
} tasksim_totals;

// Records of copies and of the use of memories: separate columns with the lengths in
// tasksim_outcome. Times are in seconds.
typedef struct {
  const int32_t *handle, *task;
  const int16_t *source, *target;
  const double *requested_s, *start_s, *end_s;
  const int8_t *reason;
  const double *time_s;
  const int16_t *memory;
  const int64_t *used_bytes;
} tasksim_log;

// Columns of the decisions of a scheduler, owned by the replay; times are in seconds. The codes of
// steps, and NaN for a term that the policy does not have, are those of tasksim/run/decisions.py.
typedef struct {
  int64_t rows;
  const double *time_s;
  const int32_t *task;
  const int8_t *step;
  const int32_t *worker, *queue, *position;
  const double *free_s, *transfer_s, *duration_s, *energy_s, *end_s, *cost_s;
} tasksim_decisions;

TASKSIM_API int32_t tasksim_core_version(void);
TASKSIM_API const char *tasksim_core_sources(void);  // a digest of its sources
TASKSIM_API const char *tasksim_core_compiler(void); // its compiler

// Ways in which a function of a native run reports a failure.
enum tasksim_tells {
  TASKSIM_TELLS_NOTHING = 0,
  TASKSIM_TELLS_RESULT = 1,  // it returns an int32_t, 0 for success
  TASKSIM_TELLS_LAST = 2,    // its last argument points to one, like LAPACK's info
};

#define TASKSIM_MAX_ARGUMENTS 32
#define TASKSIM_MAX_REALS 8

// Functions that the tasks of a native run call by address, without Python. Arguments are pointers,
// or integers in the place of one: first those of the task, then the worker's own arguments for
// this function. Real numbers are the last ones of the task, by their bits: a double's, or a
// float's in the lower half. They have registers of their own, so their places among the other
// arguments do not matter (System V's and ARM's conventions, up to eight).
// A task without a function is called back with its number and that of its worker. The callback
// notes its start and end, as Python waits for its own lock; it returns 0 unless it fails.
typedef struct {
  int64_t functions;
  void *const *address;                    // per function
  const int8_t *tells;                     // the same: enum tasksim_tells
  const int8_t *reals;                     // the same: how many arguments are real numbers
  const int32_t *function;                 // per task; -1: called back
  const int64_t *argument_ptr;             // tasks + 1
  void *const *arguments;
  const int64_t *own_ptr;                  // functions + 1
  void *const *own;                        // workers x own_ptr[functions]
  int32_t (*call_back)(int64_t task, int64_t worker, double *began_ended_s);
} tasksim_program;

// Number of occurrences of a kernel in a selective run: its root divides the kernel's interval.
enum tasksim_counts {
  TASKSIM_COUNTS_ONE = 0,
  TASKSIM_COUNTS_OWN = 1,      // times that its worker has met it
  TASKSIM_COUNTS_PATH = 2,     // times that it is on the path to the task
  TASKSIM_COUNTS_PROFILE = 3,  // times that it was on the path of an earlier run
  TASKSIM_COUNTS_SHARE = 4,    // its share of the makespan instead
};

// The state of a core: durations of fixed pieces of work.
typedef struct {
  double pulse;                            // of work that fills the core, in those of work that waits
  double beat_s;                           // of work that waits for itself, in seconds
} tasksim_reading;

// A selective run: the tasks to execute, and the charge of the others. A kernel here has its
// parameters. *sample_s* are its durations from earlier runs, in the order of their measurement;
// *measured_task* and *measured_s* get those of this run, and *measured* their number. A kernel
// that fails on data which no task has computed gets copies of safe data before it is called.
// With the *idle* reading of each worker's core, durations are without what others took on the same
// processor, by the law of run/crowding.py.
typedef struct {
  int64_t kernels, quantile_count, least, counts, spread, company, rehearse;
  int64_t draws;              // whether charges are drawn from durations; else they are means
  double tolerance;
  const int32_t *of_task;     // number of its kernel, below `kernels`
  const double *quantiles;    // by degrees of freedom; [0] is unused
  const int64_t *sample_ptr;  // kernels + 1
  const double *sample_s;
  const double *told_s;       // per kernel: estimate from other sizes, 0 without one
  const int64_t *profile;
  const uint32_t *twister;    // state of Python's random.Random, for draws
  int64_t *measured;
  int32_t *measured_task;     // tasks
  double *measured_s;
  const int64_t *safe_ptr;    // tasks + 1; null: no copies
  void *const *safe_target;
  void *const *safe_source;
  const int64_t *safe_bytes;
  const tasksim_reading *idle;  // workers; null: no pulses are taken
  // Kernels x 3: weights of pulses to max_pulse, and beyond to max_twin_pulse, and a factor.
  const double *crowding_weights;
  double max_pulse, max_twin_pulse, max_beat;
  double busy_pulse, idle_beat_exponent, busy_beat_exponent;
} tasksim_selection;

// The executed tasks of a selective run, the total duration of those that were measured, and the
// largest such total of one worker.
typedef struct {
  int64_t executed, accompanied, skipped, rehearsed;
  double executed_s, busiest_s;
} tasksim_effort;

// Objects: made, used by any number of replays, freed. Null and a status if they cannot be made.
TASKSIM_API void *tasksim_graph_new(const tasksim_graph *given, int32_t *status);
TASKSIM_API void tasksim_graph_free(void *graph);
TASKSIM_API void *tasksim_platform_new(const tasksim_platform *given, int32_t *status);
TASKSIM_API void tasksim_platform_free(void *platform);

TASKSIM_API void *tasksim_replay_new(const void *graph, const void *platform,
                                     const tasksim_question *question,
                                     const tasksim_scheduler *scheduler,
                                     const tasksim_called *called, int32_t *status,
                                     tasksim_outcome *outcome);
// Runs at most this number of events, and for some 20 ms: between two calls the caller handles a
// user's interruption. A negative number ends a replay whose tasks are all done.
TASKSIM_API int32_t tasksim_replay_go_on(void *replay, int64_t events);
TASKSIM_API void tasksim_replay_outcome(const void *replay, tasksim_outcome *outcome);
TASKSIM_API void tasksim_replay_tasks(const void *replay, const tasksim_tasks *columns);
// Passes the records of a replay to the caller: *columns* gets their addresses, which are valid
// until they are freed.
TASKSIM_API void *tasksim_replay_log(void *replay, tasksim_log *columns);
TASKSIM_API void tasksim_log_free(void *log);
// No rows if the question does not ask for decisions.
TASKSIM_API void tasksim_replay_decisions(void *replay, tasksim_decisions *columns);
// Accesses where memory is non-uniform: bytes per domain of tasks and domain of data, and by how
// much longer the tasks of each domain took for it. Else nothing is written.
TASKSIM_API void tasksim_replay_numa(const void *replay, double *accessed_bytes, double *extra_s);
// *taken_s* is a column for the time of each task from its start to its end.
TASKSIM_API void tasksim_replay_totals(const void *replay, double *taken_s,
                                       tasksim_totals *totals);
TASKSIM_API void tasksim_replay_free(void *replay);

// A replay of many nodes; it runs and is freed like others. Columns are those of one node's tasks;
// per message, *started* and *ended* are the start of its data and their arrival, in ticks.
TASKSIM_API void *tasksim_cluster_new(const tasksim_cluster *given, int32_t *status,
                                      tasksim_outcome *outcome);
TASKSIM_API void tasksim_cluster_outcome(const void *replay, int64_t node, tasksim_outcome *outcome);
TASKSIM_API void tasksim_cluster_tasks(const void *replay, int64_t node,
                                       const tasksim_tasks *columns);
TASKSIM_API void *tasksim_cluster_log(void *replay, int64_t node, tasksim_log *columns);
TASKSIM_API void tasksim_cluster_numa(const void *replay, int64_t node, double *accessed_bytes,
                                      double *extra_s);
TASKSIM_API void tasksim_cluster_messages(const void *replay, int64_t *started, int64_t *ended);

// Native runs: a graph and a platform on threads that the caller makes and that enter the core
// here. The scheduler is a policy of the core or callbacks; estimates are classes x tasks. With
// *spins*, waiting threads spin for a while before they sleep, for threads with a core each.
TASKSIM_API void *tasksim_native_new(const void *graph, const void *platform,
                                     const tasksim_program *program, const double *estimates,
                                     const tasksim_scheduler *scheduler,
                                     const tasksim_callbacks *callbacks, int32_t spins,
                                     int32_t *status);
TASKSIM_API int32_t tasksim_native_attach(void *run);
// Starts the clock: *origin_s* is now, on the system's monotonic clock.
TASKSIM_API void tasksim_native_begin(void *run, double origin_s);
// The submitting thread: submits for about *patience_s*, and returns TASKSIM_MORE if it is to be
// called again; then it waits in the same way. Between two calls the caller handles a user's
// interruption.
TASKSIM_API int32_t tasksim_native_submit(void *run, double patience_s);
TASKSIM_API int32_t tasksim_native_wait(void *run, double patience_s);
// From now on no worker starts another task.
TASKSIM_API void tasksim_native_stop(void *run);
// Ends the run; TASKSIM_MORE if a scheduler that does not return has kept the lock for
// *patience_s*.
TASKSIM_API int32_t tasksim_native_finish(void *run, double patience_s);
// The thread of each worker; returns when the run is over.
TASKSIM_API int32_t tasksim_native_work(void *run, int64_t worker);
TASKSIM_API int64_t tasksim_native_left(void *run);  // number of tasks that are not done
// Outside tasks, which no worker executes: a flag per task, kept until the run is over. Call it
// before attach.
TASKSIM_API void tasksim_native_outside(void *run, const int8_t *outside);
// For the outside thread: writes newly released outside tasks, each once, and returns their number;
// -1 when the run is over. If there are none it waits at most *busy_s*, or *idle_s* if a worker
// sleeps.
TASKSIM_API int64_t tasksim_native_handed_out(void *run, double busy_s, double idle_s,
                                              int32_t *tasks);
// Notes that outside tasks have ended.
TASKSIM_API int32_t tasksim_native_completed(void *run, int64_t count, const int32_t *tasks,
                                             const double *start_s, const double *end_s);
// For the end, after all threads have left: the outcome of the run, and the state of each task.
TASKSIM_API int32_t tasksim_native_outcome(void *run, tasksim_outcome *outcome);
TASKSIM_API void tasksim_native_tasks(void *run, const tasksim_tasks *columns);
TASKSIM_API void tasksim_native_free(void *run);
// For a scheduler's callbacks during their call: sleeping workers, the worker whose task has
// released the one being pushed (-1: none), and wake-ups.
TASKSIM_API const int8_t *tasksim_native_sleepers(void *run);
TASKSIM_API int64_t tasksim_native_pusher(void *run);
TASKSIM_API void tasksim_native_wake(void *run, int64_t worker);
TASKSIM_API void tasksim_native_wake_any(void *run, int64_t task);
TASKSIM_API void tasksim_native_wake_all(void *run, int64_t task);

// Path records of a native run: kinds of its tasks, below *count*, kept until the run is freed.
// Call it before the run begins. Afterwards they are the record of the task that ended last: two
// columns of length *count*, the time of its end, and the waiting time.
TASKSIM_API int32_t tasksim_native_keep_paths(void *run, const int32_t *kinds, int64_t count);
TASKSIM_API void tasksim_native_path(void *run, int64_t *counts, double *seconds,
                                     double *end_waited_s);

// Keeps the processor time of each task of a native run and, with what an *idle* core of each worker
// shows, the mean pulse and beat before and after it. Call it before the run begins.
TASKSIM_API void tasksim_native_keep_processor_times(void *run, const tasksim_reading *idle);
// The state of this thread's core.
TASKSIM_API tasksim_reading tasksim_pulse(void);
// Reads the state of this thread's core at most *most* times between two times of the system's
// monotonic clock, and the longest time from one to the next; returns their number.
TASKSIM_API int64_t tasksim_pulses(double begin_s, double end_s, int64_t most,
                                   tasksim_reading *pulses, double *longest_gap_s);
// Durations of *count* reads of as many bytes, in seconds, 3 each: near, after a pause, and in no
// cache; returns *count*, or 0 if this processor cannot tell.
TASKSIM_API int64_t tasksim_cold_reads(int64_t bytes, double pause_s, int64_t count,
                                       double *seconds);
// Durations in seconds of *count* passes of a line of data, 0 at first, between two threads that
// call this with sides 0 and 1, each the mean of many; returns how many there are, less than *count*
// if the other thread does not answer for as long as *patience_s*.
TASKSIM_API int64_t tasksim_passes(uint64_t *line, int32_t side, int64_t count, double patience_s,
                                   double *seconds);

// Selective runs: like native runs, but every task has a function, and the scheduler is the core's.
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

// A program whose tasks are called one by one; null and a status if it cannot be made. A call notes
// its start and end by the clock of native runs, and returns the result of its function. It cannot
// call tasks without a function.
TASKSIM_API void *tasksim_timed_new(const tasksim_program *program, int64_t tasks,
                                    int64_t workers, int32_t *status);
TASKSIM_API int64_t tasksim_timed_call(const void *timed, int64_t task, int64_t worker,
                                       double *began_ended_s);
TASKSIM_API void tasksim_timed_free(void *timed);

// Kernels of tasksim itself. Waiting tasks: they wait for *duration_s*, or until the gate opens.
TASKSIM_API void *tasksim_gate_new(void);
TASKSIM_API void tasksim_gate_set(void *gate, int32_t open);
TASKSIM_API void tasksim_gate_free(void *gate);
TASKSIM_API void tasksim_wait(void *gate, const double *duration_s);
// LU of a tile without row interchanges, by the routines lacpy, getrf, trsm and gemm.
TASKSIM_API void tasksim_getrf_float64(void *const *routines, const int32_t *n, double *a,
                                       const int32_t *lda, double *work, int32_t *info);
TASKSIM_API void tasksim_getrf_float32(void *const *routines, const int32_t *n, float *a,
                                       const int32_t *lda, float *work, int32_t *info);

// Parts of learned models, at *n* rows of *columns* numbers. The mean of a Gaussian process: the sum
// of 2·weight/(2 + squared distance) over centres in groups of 64, [groups, columns, 64]; *weights*
// are doubled.
TASKSIM_API void tasksim_process_float32(const float *rows, int64_t n, int64_t columns,
                                         const float *centres, const float *weights,
                                         int64_t groups, double *out);
TASKSIM_API void tasksim_process_float64(const double *rows, int64_t n, int64_t columns,
                                         const double *centres, const double *weights,
                                         int64_t groups, double *out);
// The same by products, with other arrays: the first column of rows is the square of the others,
// that of centres 2 + their square, and the others of centres are multiplied by -2. A squared
// distance then takes two operations per column instead of three.
TASKSIM_API void tasksim_products_float32(const float *rows, int64_t n, int64_t columns,
                                          const float *centres, const float *weights,
                                          int64_t groups, double *out);
TASKSIM_API void tasksim_products_float64(const double *rows, int64_t n, int64_t columns,
                                          const double *centres, const double *weights,
                                          int64_t groups, double *out);
// The sum of an even number of trees, each with six of the *questions*, is *column* at least
// *border*, and a value for each of 64 answers.
TASKSIM_API int32_t tasksim_forest(const double *rows, int64_t n, int64_t columns,
                                   int64_t questions, const int32_t *column, const double *border,
                                   int64_t trees, const int32_t *asked, const double *values,
                                   double *out);
// The six questions of a tree that explain most of *left*, given the cell of each row in each
// column, [columns, rows]: the numbers of cells over all columns, of which *first* has the first
// one of each column, and their number.
TASKSIM_API int32_t tasksim_questions(int64_t rows, int64_t columns, const uint8_t *cells,
                                      const int64_t *first, const double *left, double ridge,
                                      int64_t *questions);

// Drafts: schedules that are judged by an estimate of their makespan (optimization/drafts.py).
// Tasks are numbered so that predecessors come first.
typedef struct {
  int64_t tasks, workers, classes, memories;
  const double *cost;                        // seconds, [tasks, classes]; infinite: it cannot run
  const int64_t *class_of, *memory_of;       // per worker
  const int64_t *before_ptr, *before;        // the predecessors of each task; tasks + 1, edges
  const double *copies, *size_bytes;         // per edge, in this order
  const int64_t *next_ptr, *next;            // the successors of each task
  const double *latency_s, *seconds_per_byte; // [memories, memories]
  const double *initial_s;                   // arrival of data that no task wrote, [tasks, memories]
  double *lag;                               // what replays add to the arrival of data, the same
  double tick_s;                             // the precision of replays
} tasksim_drafts;

TASKSIM_API void *tasksim_drafts_new(const tasksim_drafts *given); // null: refused, or no memory
// Tries *steps* changes of a schedule, in place, at this temperature. *estimates* are those of the
// first and of the last schedule.
TASKSIM_API int32_t tasksim_drafts_walk(void *drafts, int64_t *worker, int64_t *order,
                                        int64_t steps, double temperature_s, uint64_t seed,
                                        double *estimates);
// Writes the *lag* of the tasks of a replay.
TASKSIM_API int32_t tasksim_drafts_learn(void *drafts, const int64_t *worker, const int64_t *order,
                                         const double *start, const double *end);
TASKSIM_API void tasksim_drafts_free(void *drafts);

// Static plans of a whole graph (schedulers/static/problem.py). Tasks are numbered so that
// predecessors come first.
typedef struct {
  int64_t tasks, workers, classes, memories, edges, initials, handles;
  const double *cost;                         // seconds, [tasks, classes]; infinite: it cannot run
  const int64_t *class_of, *memory_of;        // per worker
  const double *latency_s, *seconds_per_byte; // [memories, memories]
  const int64_t *ptr, *source, *target;       // edges by source: tasks + 1, edges, edges
  const double *copies, *size;                // per edge, the data that it carries
  const int64_t *by_target, *target_ptr;      // edges by target, and the first one of each task
  const int64_t *initial_task, *initial_home; // data that tasks read and no task writes
  const double *initial_size;
  const int64_t *commuting_ptr, *commuting_handle; // per task; null if there are none
  const int32_t *stop;                        // null, or not 0 as soon as planning has to end
} tasksim_planning;

typedef struct {
  int32_t *worker;     // per task
  double *start, *end; // seconds
} tasksim_plan_made;

// Makes the plan of the algorithm of this name. The *numbers* are: min-min and max-min, whether in
// rounds; met, whether a tie goes to the worker that is free first; dls and gdl, whether the
// average is the median, and whether descendants count; fcp, the size of the queue, 0 for the
// number of workers; wba, alpha, then a number below 1 for each task. TASKSIM_MORE: it was stopped.
TASKSIM_API int32_t tasksim_plan(const tasksim_planning *problem, const char *name,
                                 const double *numbers, int64_t count,
                                 const tasksim_plan_made *made);

// The following functions need Python's lock, and so does go_on of a replay that calls a scheduler:
// it returns TASKSIM_CALLBACK with Python's error set if a method raises one.
TASKSIM_API void tasksim_python_is(const tasksim_python *given); // call it first; once is enough

// The classes that can run each task, and its estimated duration: classes where data do not fit are
// left out.
TASKSIM_API void tasksim_replay_seen(const void *replay, const uint64_t **able,
                                     const double **estimates);
// A capsule that frees the replay when Python frees the capsule, instead of tasksim_replay_free.
TASKSIM_API void *tasksim_replay_owner(void *replay);
// A function of the view of a run, by name, for Python; null: there is none.
TASKSIM_API void *tasksim_replay_function(void *owner, const char *name);

#ifdef __cplusplus
}
#endif
#endif
