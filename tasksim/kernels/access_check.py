"""Access check: whether tasks write only what they declare to write.

A task that writes what it only declared to read, or never declared, is ordered wrongly: its results
depend on which worker was quicker. Here tasks run one at a time, and before and after each of them
all data are compared by their hashes.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tasksim.base.errors import InputError
from tasksim.graph.access_mode import AccessMode
from tasksim.kernels.errors import KernelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.kernels.program import Residual

__all__ = ["AccessCheckedProgram"]

MOST_NAMED = 5
"""Data that a message names: who has one undeclared write often has thousands."""


class Inspectable(Protocol):
    """A program whose data can be looked at."""

    graph: TaskGraph

    def run(self, task: int, worker: int) -> None:
        """Execute *task*."""

    def reset(self) -> None:
        """Make the data again what they were at first."""

    def check(self) -> Residual | None:
        """Return the residual of the result."""

    def datum(self, handle: int) -> NDArray[Any] | None:
        """Return the data of *handle*; None if they are no array, or need no memory."""


class AccessCheckedProgram:
    """A program whose tasks run one at a time, and are watched.

    Parameters
    ----------
    program : Program
        One that has ``datum(handle)``.

    Raises
    ------
    InputError
        If it has not: its data cannot be looked at.

    Notes
    -----
    Objects that are no arrays are not looked at; nor is memory that each worker has to itself.
    """

    def __init__(self, program: Any) -> None:
        if not hasattr(program, "datum"):
            raise InputError(
                f"graph {program.graph.name}: its data cannot be looked at, so its accesses cannot"
                " be checked"
            )
        self.graph: TaskGraph = program.graph
        self._program: Inspectable = program
        self._one_at_a_time = threading.Lock()
        self._before: dict[int, NDArray[Any]] = {}
        self._coming: set[int] = set()

    def coming(self, handle: int) -> None:
        """Note that *handle* is written from without, from now until it :meth:`has_come`."""
        with self._one_at_a_time:
            self._coming.add(handle)

    def has_come(self, handle: int) -> None:
        """Take *handle* as it is now."""
        with self._one_at_a_time:
            self._coming.discard(handle)
            now = self._bytes(handle) if handle in self._before else None
            if now is not None:
                self._before[handle][:] = now

    def run(self, task: int, worker: int) -> None:
        """Execute *task*; :exc:`KernelError` if it wrote what it did not declare to write."""
        with self._one_at_a_time:
            self._program.run(task, worker)
            changed = self._changed(self._declared(task))
        if changed:
            raise KernelError(self.graph.kernel_of(task), self._told(task, changed))

    def reset(self) -> None:
        """Make the data again what they were at first."""
        self._program.reset()
        found = ((handle, self._bytes(handle)) for handle in range(self.graph.handles))
        self._before = {handle: data.copy() for handle, data in found if data is not None}

    def check(self) -> Residual | None:
        """Return the residual of the result of all tasks."""
        return self._program.check()

    def _changed(self, declared: set[int]) -> list[int]:
        """Return what was changed that was not *declared*; remember the rest as it is now."""
        changed = []
        for handle, before in self._before.items():
            if handle in self._coming:
                continue
            now = self._bytes(handle)
            assert now is not None
            if not np.array_equal(now, before):
                before[:] = now
                if handle not in declared:
                    changed.append(handle)
        return changed

    def _declared(self, task: int) -> set[int]:
        """Return what *task* may write."""
        graph = self.graph
        accesses = slice(graph.access_ptr[task], graph.access_ptr[task + 1])
        writes = graph.access_mode[accesses] != AccessMode.R
        return set(graph.access_handle[accesses][writes].tolist())

    def _bytes(self, handle: int) -> NDArray[np.uint8] | None:
        """Return the data as bytes, as NaN is not equal to itself."""
        data = self._program.datum(handle)
        if data is None:
            return None
        return data.ravel(order="K").view(np.uint8)  # of contiguous data no copy

    def _told(self, task: int, changed: list[int]) -> str:
        graph = self.graph
        accesses = slice(graph.access_ptr[task], graph.access_ptr[task + 1])
        read = set(graph.access_handle[accesses].tolist())
        parts = []
        for what, which in (
            ("it wrote {}, which it only declared to read", [h for h in changed if h in read]),
            ("it wrote {}, which it did not declare", [h for h in changed if h not in read]),
        ):
            if which:
                names = ", ".join(graph.handle_name(handle) for handle in which[:MOST_NAMED])
                more = len(which) - MOST_NAMED
                parts.append(what.format(names + (f" and {more} more" if more > 0 else "")))
        return "; ".join(parts)
