"""Answers of the core, from the events of a replay to its columns of results."""

from __future__ import annotations

import ctypes
import weakref
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.core import interface
from tasksim.run.record import MemoryTable, TransferTable
from tasksim.run.recordtables import frozen

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tasksim.engine.slowing import Slowing
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.decisions import DecisionTable
    from tasksim.run.numa import NumaUse

__all__ = ["NotedCopies", "ended", "finished", "numa_use", "read_decisions", "read_tasks"]

EVENTS_PER_CALL: Final = 100_000
"""Maximum number of events between two checks for Ctrl-C; the core comes back after 20 ms, too."""


def ended(
    go_on: Callable[[int | None, int], int],
    handle: int | None,
    look: Callable[[], None] | None = None,
) -> int:
    """Let a replay go on until it ends; return the status.

    *look* is called whenever the core comes back. Raises
    :exc:`~tasksim.base.interruption.Stopped` in a thread that was asked to give up.
    """
    status = go_on(handle, EVENTS_PER_CALL)
    if status != interface.CallStatus.MORE:
        return status
    from tasksim.base.interruption import give_up_if_asked

    while status == interface.CallStatus.MORE:
        give_up_if_asked()
        if look is not None:
            look()
        status = go_on(handle, EVENTS_PER_CALL)
    return status


def finished(read: Callable[[Any], None], count: int) -> int:
    """Return how many of *count* tasks are done; *read* fills columns."""
    from tasksim.runtime.rules import DONE  # most replays end before they are asked

    states = np.empty(count, np.int8)
    read(ctypes.byref(interface.Tasks(state=states.ctypes.data)))
    return int(np.count_nonzero(states == DONE))


def read_tasks(read: Callable[[Any], None], count: int) -> dict[str, NDArray[Any]]:
    """Return the lives of *count* tasks, in columns that *read* fills."""
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
    read(ctypes.byref(interface.Tasks(**places)))
    return {name: frozen(values) for name, values in columns.items()}


def numa_use(slowing: Slowing | None, read: Callable[[int, int], None]) -> NumaUse | None:
    """Return the accesses between memory domains, in arrays that *read* fills.

    None if memory is uniform.
    """
    if slowing is None or slowing.distances is None:
        return None
    from tasksim.run.numa import NumaUse

    names = slowing.distances.names
    accessed, extra_s = np.zeros((len(names), len(names))), np.zeros(len(names))
    read(accessed.ctypes.data, extra_s.ctypes.data)
    return NumaUse(names, tuple(map(tuple, accessed.tolist())), tuple(extra_s.tolist()))


def read_decisions(read: Callable[[Any], None]) -> DecisionTable:
    """Return the decisions of a scheduler, copied from the columns that *read* points to."""
    from tasksim.run.decisions import DecisionTable

    places = interface.Decisions()
    read(ctypes.byref(places))
    if not places.rows:
        return DecisionTable.empty()
    columns = {}
    for name, dtype in DecisionTable.dtypes.items():
        text = ctypes.string_at(getattr(places, name), places.rows * dtype.itemsize)
        columns[name] = np.frombuffer(text, dtype)
    return DecisionTable(**columns)


class NotedCopies:
    """Copies and use of memory that the core recorded, as its own columns without a copy.

    They are taken out of the replay, which keeps none of them.
    """

    def __init__(self, take: Callable[[Any], int | None], outcome: interface.Outcome) -> None:
        core, places = interface.functions(), interface.Log()
        log = take(ctypes.byref(places))
        if log is None or core is None:
            raise MemoryError
        # Not when Python ends: tables may still be read then.
        weakref.finalize(self, core.tasksim_log_free, log).atexit = False
        self._places, self._copies, self._changes = places, outcome.copies, outcome.changes

    def transfers(self, graph: TaskGraph) -> TransferTable:
        """Return the copies of the data of *graph* as the table of a run."""
        columns = {
            name: self._column(name, self._copies, dtype)
            for name, dtype in TransferTable.dtypes.items()
            if name != "size_bytes"
        }
        return TransferTable(size_bytes=frozen(graph.handle_size[columns["handle"]]), **columns)

    def memory_use(self) -> MemoryTable:
        """Return the use of the memories as the table of a run."""
        return MemoryTable(
            **{
                name: self._column(name, self._changes, dtype)
                for name, dtype in MemoryTable.dtypes.items()
            }
        )

    def _column(self, name: str, rows: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        place = getattr(self._places, name)
        return np.asarray(_Column(self, place, rows, dtype)) if rows else np.empty(0, dtype)


class _Column:
    """A column of the core in NumPy's array interface, which keeps its owner alive."""

    def __init__(self, part_of: NotedCopies, place: int, rows: int, dtype: np.dtype[Any]) -> None:
        self._part_of = part_of
        self.__array_interface__ = {
            "version": 3, "shape": (rows,), "typestr": dtype.str, "data": (place, True)
        }  # fmt: skip
