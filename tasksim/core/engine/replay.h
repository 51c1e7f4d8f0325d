// Replay: one simulated run, that of one memory or that of a machine with devices.
#pragma once

#include <memory>

#include "../schedulers/scheduler.h"
#include "../runtime/ledger.h"
#include "data/copy_log.h"

namespace tasksim {

class Replay {
 public:
  virtual ~Replay() = default;

  // Attaches the scheduler and submits the first tasks.
  virtual void begin() = 0;

  // Lets at most so many events happen; returns whether any are left.
  virtual bool go_on(i64 events) = 0;

  // Throws Broken for what is left undone.
  virtual void end() = 0;

  virtual View &view() = 0;
  virtual const Ledger &ledger() const = 0;
  virtual double units_per_s() const = 0;  // of the ledger's times
  virtual double now_s() const = 0;
  virtual i64 events() const = 0;
  virtual i64 evictions() const { return 0; }
  virtual CopyLog *log() { return nullptr; }
};

// Of cores that share one memory, without a coroutine per worker.
std::unique_ptr<Replay> memory_replay(const Graph &graph, const Platform &platform,
                                      const tasksim_question &question, Scheduler &scheduler);

// Of any machine (engine/replay.py).
std::unique_ptr<Replay> machine_replay(const Graph &graph, const Platform &platform,
                                       const tasksim_question &question, Scheduler &scheduler);

}  // namespace tasksim
