"""Queues of ready tasks from which a worker takes the first task that it can run.

A queue has a lane per set of classes that can run a task. A search for a task thus looks only at
the heads of a few lanes and never walks along a queue.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tasksim.schedulers.base import View

__all__ = ["FifoQueue", "PriorityQueue"]


class FifoQueue:
    """A queue of tasks in push order."""

    def __init__(self, view: View) -> None:
        self._able = view.able
        self._class_of = view.class_of
        self._lanes: dict[int, deque[tuple[int, int]]] = {}
        self._pushed = 0
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def push(self, task: int) -> None:
        """Append *task*."""
        able = self._able[task]
        lane = self._lanes.get(able)
        if lane is None:
            lane = self._lanes[able] = deque()
        lane.append((self._pushed, task))
        self._pushed += 1
        self._size += 1

    def pop(self, worker: int) -> int | None:
        """Remove and return the oldest task that *worker* can run."""
        bit = 1 << self._class_of[worker]
        best: deque[tuple[int, int]] | None = None
        for able, lane in self._lanes.items():
            if lane and able & bit and (best is None or lane[0] < best[0]):
                best = lane
        if best is None:
            return None
        self._size -= 1
        return best.popleft()[1]


class _Lane:
    """Tasks by priority level, and in push order within a level."""

    __slots__ = ("heap", "levels")

    def __init__(self) -> None:
        self.levels: dict[int, deque[tuple[int, int]]] = {}
        self.heap: list[int] = []

    def push(self, priority: int, entry: tuple[int, int]) -> None:
        level = self.levels.get(priority)
        if level is None:
            self.levels[priority] = deque((entry,))
            heappush(self.heap, -priority)
        else:
            level.append(entry)

    def remove_empty_level(self) -> None:
        del self.levels[-heappop(self.heap)]


class PriorityQueue:
    """A queue of tasks by priority, and in push order within a level."""

    def __init__(self, view: View) -> None:
        self._able = view.able
        self._class_of = view.class_of
        self._priority = view.priority
        self._lanes: dict[int, _Lane] = {}
        self._pushed = 0
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def push(self, task: int) -> None:
        """Insert *task* at the end of its priority level."""
        able = self._able[task]
        lane = self._lanes.get(able)
        if lane is None:
            lane = self._lanes[able] = _Lane()
        lane.push(self._priority[task], (self._pushed, task))
        self._pushed += 1
        self._size += 1

    def pop(self, worker: int) -> int | None:
        """Remove and return the oldest task of the highest level that *worker* can run."""
        return self._take(worker, newest=False)

    def pop_newest(self, worker: int) -> int | None:
        """Remove and return the newest task of the highest level that *worker* can run."""
        return self._take(worker, newest=True)

    def _take(self, worker: int, *, newest: bool) -> int | None:
        lane = self._best_lane(1 << self._class_of[worker], newest)
        if lane is None:
            return None
        level = lane.levels[-lane.heap[0]]
        task = (level.pop() if newest else level.popleft())[1]
        if not level:
            lane.remove_empty_level()
        self._size -= 1
        return task

    def _best_lane(self, bit: int, newest: bool) -> _Lane | None:
        lanes = [lane for able, lane in self._lanes.items() if lane.heap and able & bit]
        if len(lanes) <= 1:
            return lanes[0] if lanes else None
        top = min(lane.heap[0] for lane in lanes)
        level = [lane for lane in lanes if lane.heap[0] == top]
        if newest:
            return max(level, key=lambda lane: lane.levels[-top][-1])
        return min(level, key=lambda lane: lane.levels[-top][0])
