"""Queue of one worker in the modular schedulers, optionally by priority and data-aware."""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from typing import TYPE_CHECKING

from tasksim.schedulers.data_readiness import ReadyTasks

if TYPE_CHECKING:
    from tasksim.schedulers.base import View

__all__ = ["WorkerQueue"]


class WorkerQueue:
    """A queue of tasks for the workers of one memory, by priority level if *by_priority*.

    With *ready_first*, a pop takes the task of the highest level that lacks the fewest bytes in
    *memory*. Ties are broken by the fewest bytes that are not on their way either, then by the
    least new space, then by age. The search ends at a task that lacks nothing, as in StarPU's
    queue components (``component_prio.c``, ``prio_deque.c``).
    """

    __slots__ = ("_heap", "_levels", "_memory", "_priority", "_ready_first", "_size", "_view")

    def __init__(
        self, view: View, memory: int = 0, *, by_priority: bool, ready_first: bool
    ) -> None:
        self._view = view
        self._memory = memory
        self._priority = view.priority if by_priority else None
        self._ready_first = ready_first
        self._levels: dict[int, deque[int] | ReadyTasks] = {}
        self._heap: list[int] = []
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def push(self, task: int) -> None:
        """Append *task* to its level."""
        self._level(task).append(task)
        self._size += 1

    def give_back(self, task: int) -> None:
        """Put *task*, which was popped, back in front of its level."""
        self._level(task).appendleft(task)
        self._size += 1

    def first(self) -> int | None:
        """Return the oldest task of the highest level without removing it."""
        return next(iter(self._levels[-self._heap[0]])) if self._size else None

    def pop(self) -> int | None:
        """Remove and return the task to run next."""
        if not self._size:
            return None
        priority = -self._heap[0]
        level = self._levels[priority]
        task = level.popleft()
        if not level:
            del self._levels[priority]
            heappop(self._heap)
        self._size -= 1
        return task

    def _level(self, task: int) -> deque[int] | ReadyTasks:
        priority = self._priority[task] if self._priority is not None else 0
        level = self._levels.get(priority)
        if level is None:
            level = ReadyTasks(self._view, self._memory) if self._ready_first else deque()
            self._levels[priority] = level
            heappush(self._heap, -priority)
        return level
