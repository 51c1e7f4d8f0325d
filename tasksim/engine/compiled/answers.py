"""Answers of the core: how a replay goes on until it ends, and the columns that it leaves."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.core import interface
from tasksim.run.record import TaskTable

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["CopyColumns", "ended", "read_log", "read_tasks", "task_table"]

EVENTS: Final = 100_000
"""Events between two looks whether the user wants to stop; the core comes back after 20 ms, too."""


def ended(go_on: Callable[[int | None, int], int], handle: int | None) -> int:
    """Let a replay go on until it ends; return the status."""
    status = interface.MORE
    while status == interface.MORE:
        status = go_on(handle, EVENTS)
    return status


def read_tasks(core: ctypes.CDLL, handle: int | None, count: int) -> dict[str, NDArray[Any]]:
    """Return what became of so many tasks, in columns."""
    columns: dict[str, NDArray[Any]] = {
        "worker": np.empty(count, np.int32),
        "submitted_s": np.empty(count),
        "ready_s": np.empty(count),
        "popped_s": np.empty(count),
        "start_s": np.empty(count),
        "end_s": np.empty(count),
        "released_by": np.empty(count, np.int32),
        "state": np.empty(count, np.int8),
    }
    places = {name: values.ctypes.data for name, values in columns.items()}
    core.tasksim_replay_tasks(handle, ctypes.byref(interface.Tasks(**places)))
    return columns


def task_table(graph: TaskGraph, columns: dict[str, NDArray[Any]]) -> TaskTable:
    """Return what became of the tasks of *graph*, as the table of a run."""
    return TaskTable(
        task=np.arange(len(graph), dtype=np.int32),
        kernel=graph.kernel.astype(np.int16),
        priority=graph.priority.astype(np.int32),
        **{name: values for name, values in columns.items() if name != "state"},
    )


def read_log(core: ctypes.CDLL, handle: int | None, outcome: interface.Outcome) -> CopyColumns:
    """Return the copies that the core has noted, and the use of memory."""
    log = CopyColumns(outcome.copies, outcome.changes)
    places = {name: getattr(log, name).ctypes.data for name, _ in interface.Log._fields_}
    core.tasksim_replay_log(handle, ctypes.byref(interface.Log(**places)))
    return log


class CopyColumns:
    """The copies that the core has noted, and the use of memory, in columns."""

    def __init__(self, copies: int, changes: int) -> None:
        self.handle, self.task, self.source = (np.empty(copies, np.int64) for _ in range(3))
        self.target, self.reason, self.asked = (np.empty(copies, np.int64) for _ in range(3))
        self.start, self.end = (np.empty(copies, np.int64) for _ in range(2))
        self.time, self.memory, self.used = (np.empty(changes, np.int64) for _ in range(3))
