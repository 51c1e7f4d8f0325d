"""Queues of one worker in the dm family, in push order or by priority."""

from __future__ import annotations

from bisect import insort
from collections import deque
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["PushOrder", "SortedTasks", "TaskList"]


class TaskList(Protocol):
    """A queue of tasks that wait for one worker."""

    def __len__(self) -> int: ...

    def append(self, task: int) -> None:
        """Insert *task* behind the tasks that go before it."""

    def popleft(self) -> int:
        """Remove and return the task to run next."""


class PushOrder(deque[int]):
    """A queue of tasks in push order, without regard to priorities."""


class SortedTasks:
    """A queue of tasks by priority; *new_level* makes the list of each level."""

    def __init__(
        self, priority: Sequence[int], new_level: Callable[[], TaskList] = PushOrder
    ) -> None:
        self._priority = priority
        self._new_level = new_level
        self._levels: dict[int, TaskList] = {}
        self.order: list[int] = []
        """The negated priority of each level in use, the most urgent first."""
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def append(self, task: int) -> None:
        """Insert *task* at the end of its priority level."""
        key = -self._priority[task]
        level = self._levels.get(key)
        if level is None:
            level = self._levels[key] = self._new_level()
            insort(self.order, key)
        level.append(task)
        self._size += 1

    def popleft(self) -> int:
        """Remove and return the first task of the highest level."""
        key = self.order[0]
        level = self._levels[key]
        task = level.popleft()
        self._size -= 1
        if not level:
            del self._levels[key]
            del self.order[0]
        return task
