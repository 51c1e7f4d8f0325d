"""Queues of one worker in the dm family: in the order of pushes, or by priority."""

from __future__ import annotations

from bisect import insort
from collections import deque
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["PushOrder", "SortedTasks", "TaskList"]


class TaskList(Protocol):
    """Tasks that wait for one worker."""

    def __len__(self) -> int: ...

    def append(self, task: int) -> None:
        """Insert *task* behind those that go before it."""

    def popleft(self) -> int:
        """Remove and return the task to run next."""


class PushOrder(deque[int]):
    """Tasks in the order in which they were pushed; to it, all priorities are equal."""


class SortedTasks:
    """Tasks by priority; inside one level in the order of what *new_level* makes: of the pushes."""

    def __init__(
        self, priority: Sequence[int], new_level: Callable[[], TaskList] = PushOrder
    ) -> None:
        self._priority = priority
        self._new_level = new_level
        self._levels: dict[int, TaskList] = {}
        self.order: list[int] = []
        """The levels there are, most urgent first, each as its priority negated."""
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
