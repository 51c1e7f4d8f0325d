"""Expected ends of the work that would run before a task of a given priority, for dmdasd."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from tasksim.schedulers.level_sums import LevelSums
from tasksim.schedulers.tasklists import PushOrder, SortedTasks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tasksim.schedulers.level_sums import Ranks
    from tasksim.schedulers.tasklists import TaskList

__all__ = ["EndsAhead", "WeighedTasks"]


class WeighedTasks(SortedTasks):
    """Tasks by priority, with the total duration of the most urgent levels on one worker.

    *lengths* has the expected duration of each task in seconds; an unknown one counts as 0.
    *counts* tells whether :meth:`count_ahead` is needed.
    """

    def __init__(
        self,
        priority: Sequence[int],
        ranks: Ranks,
        lengths: Sequence[float],
        new_level: Callable[[], TaskList] = PushOrder,
        *,
        counts: bool = True,
    ) -> None:
        super().__init__(priority, new_level)
        self._rank_of, self._lengths = ranks.of, lengths
        self._work = LevelSums(ranks.count)
        self._count = LevelSums(ranks.count) if counts else None

    def append(self, task: int) -> None:
        """Insert *task* at the end of its priority level."""
        super().append(task)
        rank = self._rank_of[task]
        self._work.add(rank, self._length(task))
        if self._count is not None:
            self._count.add(rank, 1.0)

    def popleft(self) -> int:
        """Remove and return the first task of the highest level."""
        levels = len(self.order)
        task = super().popleft()
        rank = self._rank_of[task]
        if len(self.order) < levels:
            self._work.clear(rank)
        else:
            self._work.add(rank, -self._length(task))
        if self._count is not None:
            self._count.add(rank, -1.0)
        return task

    def count_ahead(self, task: int) -> int | None:
        """Return the number of tasks before a new one; None if it would be first or last."""
        key = -self._priority[task]
        if self._is_first(key) or self._is_last(key):
            return None
        assert self._count is not None
        return int(self._count.up_to(self._rank_of[task]))

    def ahead(self, task: int, pipeline: float, whole: float) -> float:
        """Return the duration of the work before a new task in seconds, *pipeline* included.

        The result is *pipeline* for a task that would be first, and *whole* for one that would be
        last.
        """
        key = -self._priority[task]
        if self._is_first(key):
            return pipeline
        if self._is_last(key):
            return whole
        return pipeline + self._work.up_to(self._rank_of[task])

    def _is_first(self, key: int) -> bool:
        return not self.order or self.order[0] > key

    def _is_last(self, key: int) -> bool:
        return self.order[-1] <= key

    def _length(self, task: int) -> float:
        length = self._lengths[task]
        return length if length > 0.0 else 0.0


class EndsAhead:
    """Expected ends (:class:`~tasksim.schedulers.expected_ends.Ends`) of more urgent tasks.

    For :attr:`task`, a worker is free when the tasks handed out and the queued tasks before it are
    done: at ``max(start, now)`` plus their duration. The duration is the pipeline alone for a task
    that would be first, and the whole *length*, as in other policies, for one that would be last.
    Each query looks at all workers.

    The rule is StarPU's for an application without a declared range of priorities
    (``starpu_st_fifo_taskq_get_exp_len_prev_task_list``). If *start* includes the pipeline already,
    the pipeline counts twice.
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
        self.task = 0

    def changed(self, worker: int) -> None:
        """Do nothing: there is no state to update."""

    def earliest(self, now: float, limit: float = -inf) -> tuple[float, int]:
        """Return the earliest expected end and its worker; ends up to *limit* are ties."""
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
        task, starts, queues = self.task, self._start, self._queues
        for worker in self._workers:
            start = starts[worker]
            ahead = queues[worker].ahead(task, self._pipeline[worker], self._length[worker])
            yield (start if start > now else now) + ahead, worker
