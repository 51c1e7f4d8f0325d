"""Readiness of data: the task of a worker's queue that lacks the fewest bytes goes first."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tasksim.schedulers.base import View

__all__ = ["Readiness", "ReadyTasks", "first_ready"]

FEW: Final = 16
"""As long as a search looks at so many tasks on average, that costs less than to keep what they
lack: most searches end at the first task."""
PATIENCE: Final = 512
"""When searches have looked at so many more, what tasks lack is kept, for as many searches as there
are tasks: then the cost of keeping it once is shared by all of these."""


def first_ready(
    tasks: Iterable[int], memory: int, unready: Callable[[int, int], tuple[int, int, int]]
) -> tuple[int, int]:
    """Return, of *tasks*, the one that lacks the fewest bytes in *memory*; and how many were seen.

    *unready* is :meth:`View.unready`. Fewest bytes that are not there; of equals, fewest that are
    not even on their way; then fewest without a place; then the first. The search ends at
    a task that lacks nothing. As StarPU's ``starpu_st_fifo_taskq_pop_first_ready_task``.

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
    """Tasks, and which of them lacks the fewest bytes in a memory, as data come and go."""

    def add(self, task: int) -> None:
        """Add *task* behind the others."""

    def add_first(self, task: int) -> None:
        """Add *task* in front of the others."""

    def remove(self, task: int) -> None:
        """Forget *task*."""

    def first(self) -> int:
        """Return the task that :func:`first_ready` finds; it stays."""

    def close(self) -> None:
        """Look at the memory no more."""


class ReadyTasks(OrderedDict[int, None]):
    """Tasks in the order in which they were pushed, of which the readiest goes first.

    That is the one that :func:`first_ready` finds for *memory* in *view*.
    """

    def __init__(self, view: View, memory: int) -> None:
        super().__init__()
        self._view, self._memory = view, memory
        self._looks = 0  # at tasks, more than a few per search
        self._index: Readiness | None = None
        self._kept = 0  # for how many searches more

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
        if seen > FEW or self._looks:
            self._looks = max(0, self._looks + seen - FEW)
            if self._looks > PATIENCE:
                self._keep()
        return task

    def _keep(self) -> None:
        """Let the view keep what the tasks lack, if it can."""
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
