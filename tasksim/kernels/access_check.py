"""Check that tasks write only the data that they declare to write.

A task that writes data declared as read-only, or not declared at all, is ordered wrongly: the
results depend on the speed of the workers. The check runs tasks one at a time and compares all data
before and after each of them.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tasksim.base.errors import InputError, listed
from tasksim.graph.access_mode import AccessMode
from tasksim.kernels.calls import KernelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.kernels.program import Residual

__all__ = ["AccessCheckedProgram"]

MAX_NAMED_DATA = 5
"""Largest number of data named in a message: a program with one undeclared write often has
thousands."""


class Inspectable(Protocol):
    """A program with readable data."""

    graph: TaskGraph

    def run(self, task: int, worker: int) -> None:
        """Execute *task*."""

    def reset(self) -> None:
        """Restore the initial data."""

    def check(self) -> Residual | None:
        """Return the residual of the result."""

    def datum(self, handle: int) -> NDArray[Any] | None:
        """Return the data of *handle*; None if they are not an array, or need no memory."""


class AccessCheckedProgram:
    """A program whose tasks run one at a time with checked accesses.

    Parameters
    ----------
    program : Program
        A program with a method ``datum(handle)``.

    Raises
    ------
    InputError
        If the program has no such method, so that its data are not readable.

    Notes
    -----
    The check does not cover objects other than arrays, nor the private memory of workers.
    """

    def __init__(self, program: Any) -> None:
        if not hasattr(program, "datum"):
            raise InputError(
                f"graph {program.graph.name}: its accesses cannot be checked, because its data are"
                " not readable"
            )
        self.graph: TaskGraph = program.graph
        self._program: Inspectable = program
        self._one_at_a_time = threading.Lock()
        self._before: dict[int, NDArray[Any]] = {}
        self._coming: set[int] = set()

    def coming(self, handle: int) -> None:
        """Note that *handle* is written from outside, from now until :meth:`has_come`."""
        with self._one_at_a_time:
            self._coming.add(handle)

    def has_come(self, handle: int) -> None:
        """Accept the current value of *handle*."""
        with self._one_at_a_time:
            self._coming.discard(handle)
            now = self._bytes(handle) if handle in self._before else None
            if now is not None:
                self._before[handle][:] = now

    def run(self, task: int, worker: int) -> None:
        """Execute *task*; raise :exc:`KernelError` if it wrote data that it did not declare."""
        with self._one_at_a_time:
            self._program.run(task, worker)
            changed = self._changed(self._declared(task))
        if changed:
            raise KernelError(self.graph.kernel_of(task), self._told(task, changed))

    def reset(self) -> None:
        """Restore the initial data."""
        self._program.reset()
        found = ((handle, self._bytes(handle)) for handle in range(self.graph.handles))
        self._before = {handle: data.copy() for handle, data in found if data is not None}

    def check(self) -> Residual | None:
        """Return the residual of the result of all tasks."""
        return self._program.check()

    def _changed(self, declared: set[int]) -> list[int]:
        """Return the changed handles that were not *declared*; accept all current values."""
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
        """Return the handles that *task* may write."""
        graph = self.graph
        accesses = slice(graph.access_ptr[task], graph.access_ptr[task + 1])
        writes = graph.access_mode[accesses] != AccessMode.R
        return set(graph.access_handle[accesses][writes].tolist())

    def _bytes(self, handle: int) -> NDArray[np.uint8] | None:
        """Return the data as bytes, because a NaN is not equal to itself."""
        data = self._program.datum(handle)
        if data is None:
            return None
        return data.ravel(order="K").view(np.uint8)  # no copy if the data are contiguous

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
                names = [graph.handle_name(handle) for handle in which]
                parts.append(what.format(listed(names, MAX_NAMED_DATA)))
        return "; ".join(parts)
