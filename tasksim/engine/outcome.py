"""Outcome of a replay: what is left when the clock has stopped, as the tables of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from tasksim.engine.ticks import TICKS_PER_S
from tasksim.run.record import MemoryInfo, MemoryTable, TransferTable, WorkerInfo

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tasksim.graph.csr import Int64
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform
    from tasksim.run.record import TaskTable

__all__ = ["AnyReplay", "Outcome", "machine", "records"]


class Lives(Protocol):
    """What became of the tasks: a ledger, or what the core has noted."""

    def table(self) -> TaskTable:
        """Return it as the table of a run."""


class DataColumns(Protocol):
    """What became of the data, in columns; times in ticks."""

    @property
    def handle(self) -> Sequence[int] | Int64: ...
    @property
    def task(self) -> Sequence[int] | Int64: ...
    @property
    def source(self) -> Sequence[int] | Int64: ...
    @property
    def target(self) -> Sequence[int] | Int64: ...
    @property
    def reason(self) -> Sequence[int] | Int64: ...
    @property
    def asked(self) -> Sequence[int] | Int64: ...
    @property
    def start(self) -> Sequence[int] | Int64: ...
    @property
    def end(self) -> Sequence[int] | Int64: ...
    @property
    def time(self) -> Sequence[int] | Int64: ...
    @property
    def memory(self) -> Sequence[int] | Int64: ...
    @property
    def used(self) -> Sequence[int] | Int64: ...


class Outcome(NamedTuple):
    """What became of the tasks and, where there are several memories, of the data."""

    ledger: Lives
    log: DataColumns | None = None
    evictions: int = 0


class AnyReplay(Protocol):
    """A replay: that of one memory, or that of a machine with devices."""

    def run(self, rng: random.Random) -> float:
        """Replay the graph; return the makespan in seconds."""

    def outcome(self) -> Outcome:
        """Return what happened."""


def machine(platform: Platform) -> dict[str, Any]:
    """Return the fields of a run that say where it ran."""
    workers = (WorkerInfo(w.name, w.architecture, w.node, w.memory) for w in platform.workers)
    several = platform.memories if len(platform.memories) > 1 else ()
    memories = (MemoryInfo(m.name, m.node, m.size_bytes) for m in several)
    return {"workers": tuple(workers), "memories": tuple(memories)}


def records(graph: TaskGraph, outcome: Outcome) -> dict[str, Any]:
    """Return the fields of a run that say what happened, by name."""
    fields: dict[str, Any] = {"tasks": outcome.ledger.table()}
    if outcome.log is not None:
        fields["transfers"] = _transfers(graph, outcome.log)
        fields["memory"] = _memory(outcome.log)
        fields["evictions"] = outcome.evictions
    return fields


def _seconds(times: Sequence[int] | Int64) -> NDArray[np.float64]:
    return np.array(times, dtype=np.int64) / TICKS_PER_S


def _transfers(graph: TaskGraph, log: DataColumns) -> TransferTable:
    handle = np.array(log.handle, dtype=np.int32)
    return TransferTable(
        handle=handle,
        source=np.array(log.source),
        target=np.array(log.target),
        size_bytes=graph.handle_size[handle],
        requested_s=_seconds(log.asked),
        start_s=_seconds(log.start),
        end_s=_seconds(log.end),
        reason=np.array(log.reason),
        task=np.array(log.task),
    )


def _memory(log: DataColumns) -> MemoryTable:
    return MemoryTable(_seconds(log.time), np.array(log.memory), np.array(log.used))
