"""Queues of one worker in the dm family: in the order of pushes, or by priority."""

from __future__ import annotations

from bisect import insort
from collections import deque
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["PushOrder", "SortedTasks", "TaskList"]


class TaskList(Protocol):
    """Tasks that wait for one worker."""

    def __len__(self) -> int: ...

    def append(self, task: int) -> None:
        """Insert *task* behind those that go before it."""

    def popleft(self) -> int:
        """Remove and return the first task."""

    def urgent(self) -> deque[int]:
        """Return the tasks that have the priority of the first, in order."""

    def take(self, place: int) -> int:
        """Remove and return the task at *place* among the urgent ones."""


class PushOrder(deque[int]):
    """Tasks in the order in which they were pushed; to it, all priorities are equal."""

    def urgent(self) -> deque[int]:
        """Return all tasks, in order."""
        return self

    def take(self, place: int) -> int:
        """Remove and return the task at *place*."""
        task = self[place]
        del self[place]
        return task


class SortedTasks:
    """Tasks by priority; inside one level, in the order in which they were pushed."""

    def __init__(self, priority: Sequence[int]) -> None:
        self._priority = priority
        self._levels: dict[int, deque[int]] = {}
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
            self._levels[key] = deque((task,))
            insort(self.order, key)
        else:
            level.append(task)
        self._size += 1

    def popleft(self) -> int:
        """Remove and return the oldest task of the highest level."""
        return self.take(0)

    def urgent(self) -> deque[int]:
        """Return the tasks of the highest level, oldest first."""
        return self._levels[self.order[0]]

    def take(self, place: int) -> int:
        """Remove and return the task at *place* in the highest level."""
        key = self.order[0]
        level = self._levels[key]
        task = level[place]
        del level[place]
        self._size -= 1
        if not level:
            del self._levels[key]
            del self.order[0]
        return task
