// Replay: one simulated run, on one memory or on a machine with devices.
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

  // Lets at most *most* events happen; returns whether any are left.
  virtual bool go_on(i64 events) = 0;

  // Throws Broken if tasks are left undone.
  virtual void end() = 0;

  virtual View &view() = 0;
  virtual const Ledger &ledger() const = 0;
  virtual double units_per_s() const = 0;  // unit of the ledger's times
  virtual double now_s() const = 0;
  virtual i64 events() const = 0;
  virtual i64 evictions() const { return 0; }
  virtual CopyLog *log() { return nullptr; }
  // Accesses between memory domains, as Rate::write has them.
  virtual void write_numa(double *, double *) const {}
};

// Replay on cores that share one memory, without a coroutine per worker.
std::unique_ptr<Replay> memory_replay(const Graph &graph, const Platform &platform,
                                      const tasksim_question &question, Scheduler &scheduler);

// Replay on any machine (engine/replay.py).
std::unique_ptr<Replay> machine_replay(const Graph &graph, const Platform &platform,
                                       const tasksim_question &question, Scheduler &scheduler);

}  // namespace tasksim
