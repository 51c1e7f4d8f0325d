"""Ready-task queues, central or per worker.

A central queue has a lane per set of classes that can run a task. A search for a task thus looks
only at the heads of a few lanes and never walks along a queue. The queue of a worker keeps tasks
in push order, by priority, or by readiness of data: the task that lacks the fewest bytes goes
first.
"""

from __future__ import annotations

from bisect import insort
from collections import OrderedDict, deque
from functools import partial
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tasksim.schedulers.base import Readiness, View

__all__ = [
    "FifoQueue",
    "PriorityQueue",
    "PushOrder",
    "ReadyTasks",
    "SortedTasks",
    "TaskList",
    "first_ready",
    "level_maker",
    "task_list",
]


class FifoQueue:
    """A queue of tasks in push order; *number* is its place among the shared queues."""

    def __init__(self, view: View, number: int = 0) -> None:
        self._able = view.able
        self._class_of = view.class_of
        self._log = view.decisions
        self._place = 0 if self._log is None else self._log.shared(number)
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
        if self._log is not None:
            self._log.queued(task, self._place)

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
    """A queue of tasks by priority, and in push order within a level.

    It belongs to the worker *owner*; without one, *number* is its place among the shared queues.
    """

    def __init__(self, view: View, number: int = 0, *, owner: int | None = None) -> None:
        self._able = view.able
        self._class_of = view.class_of
        self._priority = view.priority
        self._log = view.decisions
        self._place = owner or 0
        if self._log is not None and owner is None:
            self._place = self._log.shared(number)
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
        if self._log is not None:
            self._log.queued(task, self._place, -self._priority[task])

    def pop(self, worker: int) -> int | None:
        """Remove and return the oldest task of the highest level that *worker* can run."""
        return self._take(worker, newest=False)

    def pop_newest(self, worker: int) -> int | None:
        """Remove and return the newest task of the highest level that *worker* can run."""
        return self._take(worker, newest=True)

    def _take(self, worker: int, *, newest: bool) -> int | None:
        bit = 1 << self._class_of[worker]
        lanes = [lane for able, lane in self._lanes.items() if lane.heap and able & bit]
        if not lanes:
            return None
        lane = lanes[0]
        if len(lanes) > 1:
            top = min(lane.heap[0] for lane in lanes)
            highest = [lane for lane in lanes if lane.heap[0] == top]
            if newest:
                lane = max(highest, key=lambda lane: lane.levels[-top][-1])
            else:
                lane = min(highest, key=lambda lane: lane.levels[-top][0])
        level = lane.levels[-lane.heap[0]]
        task = (level.pop() if newest else level.popleft())[1]
        if not level:
            lane.remove_empty_level()
        self._size -= 1
        return task


class TaskList(Protocol):
    """A queue of tasks that wait for one worker; iteration is in the order of the queue."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[int]: ...

    def append(self, task: int) -> None:
        """Insert *task* behind the tasks that go before it."""

    def appendleft(self, task: int) -> None:
        """Put *task*, which was removed, back in front of the tasks that it goes before."""

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

    def __iter__(self) -> Iterator[int]:
        for key in self.order:
            yield from self._levels[key]

    def append(self, task: int) -> None:
        """Insert *task* at the end of its priority level."""
        self._level(task).append(task)
        self._size += 1

    def appendleft(self, task: int) -> None:
        """Insert *task* at the front of its priority level."""
        self._level(task).appendleft(task)
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

    def _level(self, task: int) -> TaskList:
        key = -self._priority[task]
        level = self._levels.get(key)
        if level is None:
            level = self._levels[key] = self._new_level()
            insort(self.order, key)
        return level


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
        index = self._index
        if index is not None:
            task = index.first()
            del self[task]
            self._kept -= 1
            if self and self._kept:
                index.remove(task)
            else:
                index.close()
                self._index = None
            return task
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


def level_maker(view: View, memory: int, *, ready_first: bool) -> Callable[[], TaskList]:
    """Return a function that makes a list for tasks of one priority.

    With *ready_first*, the task that lacks the fewest bytes in *memory* goes first.
    """
    return partial(ReadyTasks, view, memory) if ready_first else PushOrder


def task_list(view: View, memory: int, *, by_priority: bool, ready_first: bool) -> TaskList:
    """Return an empty queue for the workers of *memory*, sorted as asked.

    Priorities come before the readiness of data.
    """
    new_level = level_maker(view, memory, ready_first=ready_first)
    return SortedTasks(view.priority, new_level) if by_priority else new_level()
