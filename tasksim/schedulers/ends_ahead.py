"""Expected ends of what would run before a task of a given priority: for dmdasd."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from math import inf
from typing import TYPE_CHECKING

from tasksim.base.sums import total
from tasksim.schedulers.tasklists import PushOrder, SortedTasks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tasksim.schedulers.tasklists import TaskList

__all__ = ["EndsAhead", "WeighedTasks"]


class WeighedTasks(SortedTasks):
    """Tasks by priority, and how long those of each level take on this worker.

    *lengths*: expected durations in seconds, per task; one that is not known counts for nothing.
    """

    def __init__(
        self,
        priority: Sequence[int],
        lengths: Sequence[float],
        new_level: Callable[[], TaskList] = PushOrder,
    ) -> None:
        super().__init__(priority, new_level)
        self._lengths = lengths
        self.work: list[float] = []
        """Per level, most urgent first, how long its tasks take in seconds."""

    def append(self, task: int) -> None:
        """Insert *task* at the end of its priority level."""
        key = -self._priority[task]
        new = key not in self._levels
        super().append(task)
        place = bisect_left(self.order, key)
        if new:
            self.work.insert(place, self._length(task))
        else:
            self.work[place] += self._length(task)

    def popleft(self) -> int:
        """Remove and return the first task of the highest level."""
        levels = len(self.order)
        task = super().popleft()
        if len(self.order) < levels:
            del self.work[0]
        else:
            self.work[0] -= self._length(task)
        return task

    def count_ahead(self, priority: int) -> int | None:
        """Return how many tasks go before a new one of *priority*; None: it is first or last."""
        levels = bisect_right(self.order, -priority)
        if levels in (0, len(self.order)):
            return None
        return sum(len(self._levels[key]) for key in self.order[:levels])

    def _length(self, task: int) -> float:
        length = self._lengths[task]
        return length if length > 0.0 else 0.0


class EndsAhead:
    """Expected ends (:class:`~tasksim.schedulers.expected_ends.Ends`) of what is more urgent.

    To a task of :attr:`priority`, a worker is free when what was handed out and what would go
    before it in the queue are done: ``max(start, now)`` and how long that takes, which is the
    pipeline alone for a task that would be first, and the whole *length*, as for any other policy,
    for one that would be last. Each question looks at all workers.

    As StarPU where the application declares no range of priorities
    (``starpu_st_fifo_taskq_get_exp_len_prev_task_list``): *start* may hold the pipeline already,
    which then counts twice.
    """

    def __init__(
        self,
        workers: tuple[int, ...],
        start: list[float],
        length: list[float],
        pipeline: list[float],
        queues: Sequence[WeighedTasks],
    ) -> None:
        self._workers, self._start, self._length = workers, start, length
        self._pipeline, self._queues = pipeline, queues
        self.priority = 0

    def changed(self, worker: int) -> None:
        """Do nothing: nothing is kept."""

    def earliest(self, now: float, limit: float = -inf) -> tuple[float, int]:
        """Return the earliest expected end and its worker; up to *limit* all are equal."""
        best, first = -1, inf
        for end, worker in self._ends(now):
            if end <= limit:
                return end, worker
            if end < first:
                best, first = worker, end
        return first, best

    def latest(self, now: float) -> float:
        """Return the latest expected end."""
        return max(end for end, _ in self._ends(now))

    def _ends(self, now: float) -> Iterator[tuple[float, int]]:
        key, starts, queues = -self.priority, self._start, self._queues
        for worker in self._workers:
            start, order = starts[worker], queues[worker].order
            levels = bisect_right(order, key)
            if not levels:
                ahead = self._pipeline[worker]
            elif levels == len(order):
                ahead = self._length[worker]
            else:
                ahead = self._pipeline[worker] + total(queues[worker].work[:levels])
            yield (start if start > now else now) + ahead, worker
