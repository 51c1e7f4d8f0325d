// Interface of replays: C functions, which no exception leaves.
#include <algorithm>
#include <chrono>
#include <new>

#include "../schedulers/called.h"
#include "../thrown.h"
#include "cluster/cluster.h"
#include "replay.h"

using namespace tasksim;

namespace {

// A replay with the objects that it needs.
struct Running : Shown {
  View &view() override { return replay->view(); }
  bool runs() const override { return status == TASKSIM_MORE; }

  std::unique_ptr<Scheduler> scheduler;
  std::unique_ptr<Replay> replay;
  tasksim_outcome outcome{};
  int32_t status = TASKSIM_MORE;
  bool begun = false;
};

void check(const Graph &graph, const Platform &platform, const tasksim_question &question) {
  if (!question.costs || !question.estimates) throw BadArrays{};
  if (question.submitted && question.threads) throw BadArrays{};
  if (question.contention && (question.threads || !question.machine)) throw BadArrays{};
  for (int task = 0; question.submitted && task < graph.tasks; ++task) {
    if (question.submitted[task] < (task ? question.submitted[task - 1] : 0)) throw BadArrays{};
  }
  // If there are memories, data have a home there, and every worker can get them from it.
  for (const int home : graph.home)
    if (platform.memories > 1 ? home >= platform.memories : home != 0) throw BadArrays{};
  if (platform.memories == 1) return;
  const Ways ways(platform);
  u64 used = 0;
  for (const int home : graph.home) used |= u64{1} << home;
  for (const int memory : platform.memory_of) used |= u64{1} << memory;
  for (int source = 0; source < platform.memories; ++source)
    for (int target = 0; target < platform.memories; ++target)
      if (source != target && (used >> source & 1) && (used >> target & 1) &&
          ways.hops(source, target).empty())
        throw BadArrays{};
}

// Time in the core between two returns to the caller, who then handles a user's interruption.
constexpr std::chrono::milliseconds CALL_TIME{20};
// Events between two readings of the machine's clock: a millisecond, if memories are too small.
constexpr i64 EVENTS_PER_CLOCK_READING = 1024;

bool go_on_for_a_slice(Replay &replay, i64 events) {
  const auto end = std::chrono::steady_clock::now() + CALL_TIME;
  bool more;
  do {
    more = replay.go_on(std::min(events, EVENTS_PER_CLOCK_READING));
    events -= EVENTS_PER_CLOCK_READING;
  } while (more && events > 0 && std::chrono::steady_clock::now() < end);
  return more;
}

// Moves the records out of the replay, for the caller to free; null: memory is short.
CopyLog *taken_out(CopyLog &noted, tasksim_log *columns) {
  auto *log = new (std::nothrow) CopyLog(std::move(noted));
  if (log)
    *columns = {log->handle.data(),      log->task.data(),    log->source.data(),
                log->target.data(),      log->requested_s.data(), log->start_s.data(),
                log->end_s.data(),       log->reason.data(),  log->time_s.data(),
                log->memory.data(),      log->used_bytes.data()};
  return log;
}

cluster::ClusterReplay &cluster_of(const void *replay) {
  return static_cast<cluster::ClusterReplay &>(*static_cast<const Running *>(replay)->replay);
}

}  // namespace

extern "C" {

void *tasksim_replay_new(const void *graph, const void *platform,
                         const tasksim_question *question, const tasksim_scheduler *scheduler,
                         const tasksim_called *called, int32_t *status,
                         tasksim_outcome *outcome) {
  auto running = std::make_unique<Running>();
  *status = guarded(outcome, [&] {
    if (!graph || !platform || !question || !(scheduler || called)) throw BadArrays{};
    const auto &tasks = *static_cast<const Graph *>(graph);
    const auto &machine = *static_cast<const Platform *>(platform);
    check(tasks, machine, *question);
    if (called) running->given = *called;
    running->scheduler = called ? called_scheduler(*running) : make_scheduler(*scheduler);
    if (!running->scheduler) return TASKSIM_UNKNOWN;
    const auto make = question->machine ? machine_replay : memory_replay;
    running->replay = make(tasks, machine, *question, *running->scheduler);
    return TASKSIM_DONE;
  });
  return *status == TASKSIM_DONE ? running.release() : nullptr;
}

int32_t tasksim_replay_go_on(void *replay, int64_t events) {
  auto &running = *static_cast<Running *>(replay);
  if (running.status != TASKSIM_MORE) return running.status;
  // It is thrown, too, that all tasks are done, while the scheduler still wakes workers.
  running.status = guarded(&running.outcome, [&] {
    if (!running.begun) {
      running.begun = true;
      running.replay->begin();
    }
    const bool more = events >= 0 && go_on_for_a_slice(*running.replay, events);
    return more ? TASKSIM_MORE : TASKSIM_DONE;
  });
  if (running.status == TASKSIM_DONE) {
    running.status = guarded(&running.outcome, [&] {
      running.replay->end();
      return TASKSIM_DONE;
    });
  }
  return running.status;
}

void tasksim_replay_outcome(const void *replay, tasksim_outcome *outcome) {
  const auto &running = *static_cast<const Running *>(replay);
  *outcome = running.outcome;
  outcome->now_s = running.replay->now_s();
  outcome->events = running.replay->events();
  outcome->evictions = running.replay->evictions();
  const CopyLog *log = running.replay->log();
  outcome->copies = log ? log->copies() : -1;
  outcome->changes = log ? log->changes() : -1;
}

void tasksim_replay_tasks(const void *replay, const tasksim_tasks *columns) {
  const Replay &ended = *static_cast<const Running *>(replay)->replay;
  ended.ledger().write(*columns, ended.units_per_s());
}

void *tasksim_replay_log(void *replay, tasksim_log *columns) {
  CopyLog *noted = static_cast<Running *>(replay)->replay->log();
  return noted ? taken_out(*noted, columns) : nullptr;
}

void tasksim_replay_decisions(void *replay, tasksim_decisions *columns) {
  const auto &noted = static_cast<Running *>(replay)->replay->view().decisions;
  *columns = {};
  if (noted) noted->write(*columns);
}

void tasksim_replay_numa(const void *replay, double *accessed_bytes, double *extra_s) {
  static_cast<const Running *>(replay)->replay->write_numa(accessed_bytes, extra_s);
}

void tasksim_log_free(void *log) { delete static_cast<CopyLog *>(log); }

void tasksim_replay_totals(const void *replay, double *taken_s, tasksim_totals *totals) {
  Replay &ended = *static_cast<const Running *>(replay)->replay;
  const double units_per_s = ended.units_per_s();
  *totals = {};
  for (const Life &life : ended.ledger().of) {
    const double end_s = life.end / units_per_s;
    *taken_s++ = end_s - life.start / units_per_s;
    totals->makespan_s = std::max(totals->makespan_s, end_s);
  }
  totals->evictions = ended.evictions();
  CopyLog *log = ended.log();
  if (!log) return;
  totals->copies = log->copies();
  const auto size = ended.view().graph.size;
  log->handle.for_each([&](int handle) { totals->copied_bytes += size[handle]; });
}

void tasksim_replay_free(void *replay) { delete static_cast<Running *>(replay); }

void *tasksim_cluster_new(const tasksim_cluster *given, int32_t *status,
                          tasksim_outcome *outcome) {
  auto running = std::make_unique<Running>();
  *status = guarded(outcome, [&] {
    if (!given) throw BadArrays{};
    for (i64 node = 0; given->member && node < given->nodes; ++node) {
      const tasksim_member &member = given->member[node];
      if (!member.graph || !member.platform || !member.question) throw BadArrays{};
      if (member.question->submitted) throw BadArrays{};
      check(*static_cast<const Graph *>(member.graph),
            *static_cast<const Platform *>(member.platform), *member.question);
    }
    running->replay = std::make_unique<cluster::ClusterReplay>(*given);
    return TASKSIM_DONE;
  });
  return *status == TASKSIM_DONE ? running.release() : nullptr;
}

void tasksim_cluster_outcome(const void *replay, int64_t node, tasksim_outcome *outcome) {
  const Node &ended = cluster_of(replay).node(node);
  outcome->evictions = ended.copies.evictions;
  outcome->copies = ended.several ? ended.log.copies() : -1;
  outcome->changes = ended.several ? ended.log.changes() : -1;
}

void tasksim_cluster_tasks(const void *replay, int64_t node, const tasksim_tasks *columns) {
  cluster_of(replay).node(node).ledger.write(*columns, cluster_of(replay).units_per_s());
}

void *tasksim_cluster_log(void *replay, int64_t node, tasksim_log *columns) {
  Node &ended = cluster_of(replay).node(node);
  return ended.several ? taken_out(ended.log, columns) : nullptr;
}

void tasksim_cluster_numa(const void *replay, int64_t node, double *accessed_bytes,
                          double *extra_s) {
  const Node &ended = cluster_of(replay).node(node);
  if (ended.rate) ended.rate->write(accessed_bytes, extra_s);
}

void tasksim_cluster_messages(const void *replay, int64_t *started, int64_t *ended) {
  const cluster::Office &office = cluster_of(replay).office();
  for (const cluster::Message &message : office.messages) *started++ = message.started;
  std::copy(office.ended.begin(), office.ended.end(), ended);
}

void tasksim_replay_seen(const void *replay, const uint64_t **able, const double **estimates) {
  const View &view = static_cast<const Running *>(replay)->replay->view();
  *able = view.able.data();
  *estimates = view.estimates;
}

void *tasksim_replay_owner(void *replay) { return static_cast<Running *>(replay)->owner(); }

void *tasksim_replay_function(void *owner, const char *name) { return function_of(owner, name); }

}  // extern "C"
