"""Queues by readiness of data: the task that lacks the fewest bytes goes first."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tasksim.schedulers.base import View

__all__ = ["Readiness", "ReadyTasks", "first_ready"]

SEARCH_LENGTH_THRESHOLD: Final = 16
"""Mean number of tasks per search up to which searches cost less than an index of the missing
bytes: most searches end at the first task."""
EXCESS_TASKS_THRESHOLD: Final = 512
"""Number of tasks in excess of the mean that searches visit before an index is built. The index
serves as many searches as there are tasks, which share the cost of building it."""


def first_ready(
    tasks: Iterable[int], memory: int, unready: Callable[[int, int], tuple[int, int, int]]
) -> tuple[int, int]:
    """Return the task that lacks the fewest bytes in *memory*, and the number of tasks visited.

    *unready* is :meth:`View.unready`, whose three numbers are compared in order: bytes that are not
    there, bytes that are not on their way either, bytes without allocated space. The first of equal
    tasks wins. The search ends at a task that lacks nothing, as StarPU's
    ``starpu_st_fifo_taskq_pop_first_ready_task`` does.

    >>> first_ready([7, 8, 9], 1, lambda task, memory: (9 - task, 0, 0))
    (9, 3)
    """
    best, least, seen = -1, None, 0
    for seen, task in enumerate(tasks, 1):
        lacks = unready(task, memory)
        if not (lacks[0] or lacks[2]):
            return task, seen
        if least is None or lacks < least:
            best, least = task, lacks
    return best, seen


class Readiness(Protocol):
    """An index of tasks by the bytes that they lack in a memory, updated as data come and go."""

    def add(self, task: int) -> None:
        """Add *task* behind the others."""

    def add_first(self, task: int) -> None:
        """Add *task* in front of the others."""

    def remove(self, task: int) -> None:
        """Remove *task*."""

    def first(self) -> int:
        """Return the task that :func:`first_ready` finds; it stays."""

    def close(self) -> None:
        """Stop to follow changes of the memory."""


class ReadyTasks(OrderedDict[int, None]):
    """A queue in push order from which the readiest task goes first.

    The readiest task is the result of :func:`first_ready` for *memory* in *view*.
    """

    def __init__(self, view: View, memory: int) -> None:
        super().__init__()
        self._view, self._memory = view, memory
        self._looks = 0  # tasks visited beyond the threshold per search
        self._index: Readiness | None = None
        self._kept = 0  # searches left until the index is dropped

    def append(self, task: int) -> None:
        """Insert *task* behind the others."""
        self[task] = None
        if self._index is not None:
            self._index.add(task)

    def appendleft(self, task: int) -> None:
        """Insert *task* in front of the others."""
        self[task] = None
        self.move_to_end(task, last=False)
        if self._index is not None:
            self._index.add_first(task)

    def popleft(self) -> int:
        """Remove and return the task that lacks the fewest bytes."""
        if self._index is not None:
            return self._pop_from(self._index)
        if len(self) == 1:
            return self.popitem()[0]
        task, seen = first_ready(self, self._memory, self._view.unready)
        del self[task]
        if seen > SEARCH_LENGTH_THRESHOLD or self._looks:
            self._looks = max(0, self._looks + seen - SEARCH_LENGTH_THRESHOLD)
            if self._looks > EXCESS_TASKS_THRESHOLD:
                self._keep()
        return task

    def _keep(self) -> None:
        """Build an index of the missing bytes, if the view has one."""
        self._looks, self._kept = 0, len(self)
        self._index = self._view.readiness(self._memory)
        if self._index is not None:
            for task in self:
                self._index.add(task)

    def _pop_from(self, index: Readiness) -> int:
        task = index.first()
        del self[task]
        self._kept -= 1
        if self and self._kept:
            index.remove(task)
        else:
            index.close()
            self._index = None
        return task
