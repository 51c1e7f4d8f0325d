"""What a replay leaves behind, as the tables of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.engine.clock import TICK_S
from tasksim.engine.machine.hybrid import HybridReplay
from tasksim.run.record import MemoryInfo, MemoryTable, TaskTable, TransferTable, WorkerInfo

if TYPE_CHECKING:
    from array import array

    from numpy.typing import NDArray

    from tasksim.engine.replay import Replay
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform

__all__ = ["machine", "records"]


def machine(platform: Platform) -> dict[str, Any]:
    """Return the fields of a run that say where it ran."""
    workers = (WorkerInfo(w.name, w.architecture, w.node, w.memory) for w in platform.workers)
    several = platform.memories if len(platform.memories) > 1 else ()
    memories = (MemoryInfo(m.name, m.node, m.size_bytes) for m in several)
    return {"workers": tuple(workers), "memories": tuple(memories)}


def records(graph: TaskGraph, platform: Platform, replay: Replay | HybridReplay) -> dict[str, Any]:
    """Return the fields of a run that say what happened, by name."""
    if not isinstance(replay, HybridReplay):
        return {"tasks": _tasks(graph, replay, _plain_times(platform, replay))}
    tasks = _tasks(graph, replay, _tick_times(replay))
    if len(platform.memories) == 1:
        return {"tasks": tasks}
    return {
        "tasks": tasks,
        "transfers": _transfers(graph, replay),
        "memory": _memory(replay),
        "evictions": replay.transfers.copies.evictions,
    }


def _tasks(
    graph: TaskGraph, replay: Replay | HybridReplay, times: dict[str, NDArray[np.float64]]
) -> TaskTable:
    return TaskTable(
        task=np.arange(len(graph), dtype=np.int32),
        kernel=graph.kernel.astype(np.int16),
        worker=np.array(replay.worker, dtype=np.int16),
        priority=graph.priority.astype(np.int32),
        released_by=np.array(replay.released_by, dtype=np.int32),
        **times,
    )


def _plain_times(platform: Platform, replay: Replay) -> dict[str, NDArray[np.float64]]:
    submitted = (np.arange(len(replay.end)) + np.float64(1)) * platform.overheads.submission_s
    return {
        "submitted_s": submitted,
        "ready_s": np.array(replay.ready),
        "start_s": np.array(replay.start),
        "end_s": np.array(replay.end),
    }


def _tick_times(replay: HybridReplay) -> dict[str, NDArray[np.float64]]:
    return {
        "submitted_s": _seconds(replay.submitted),
        "ready_s": _seconds(replay.ready),
        "popped_s": _seconds(replay.popped),
        "start_s": _seconds(replay.start),
        "end_s": _seconds(replay.end),
    }


def _seconds(times: array[int]) -> NDArray[np.float64]:
    # Divided, not multiplied by 1e-9: then 1000 ticks are 1e-6 to the last bit.
    return np.array(times, dtype=np.int64) / round(1 / TICK_S)


def _transfers(graph: TaskGraph, replay: HybridReplay) -> TransferTable:
    log = replay.transfers.log
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


def _memory(replay: HybridReplay) -> MemoryTable:
    log = replay.transfers.log
    return MemoryTable(_seconds(log.time), np.array(log.memory), np.array(log.used))
