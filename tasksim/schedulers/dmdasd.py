"""The ``dmdasd`` scheduler, which decides by the work that runs before a task of its priority."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, ClassVar, Final

from tasksim.base.sums import total
from tasksim.schedulers.dm import DataAwareSorted
from tasksim.schedulers.expected_ends import Ends
from tasksim.schedulers.queues import PushOrder, SortedTasks, level_maker

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    from tasksim.schedulers.base import View
    from tasksim.schedulers.dm import Choice
    from tasksim.schedulers.queues import TaskList

__all__ = ["DataAwareSortedDecision", "EndsAhead", "LevelSums", "PriorityRanks", "WeighedTasks"]

BRANCH_BITS: Final = 4
"""Bits of a rank per level of the tree: few mean many nodes to visit, many mean many numbers to
add. The compiled core has the same value: another one would round the sums in another way."""
BRANCHES: Final = 2**BRANCH_BITS
"""Number of branches of a node of the tree."""


class PriorityRanks:
    """Ranks of the distinct priorities; rank 0 is the most urgent one.

    *priority* has the priority of each task.
    """

    def __init__(self, priority: Sequence[int]) -> None:
        levels = sorted(set(priority), reverse=True)
        rank = {level: place for place, level in enumerate(levels)}
        self.of = [rank[each] for each in priority]
        """Per task, its rank."""
        self.count = len(levels)


class LevelSums:
    """A number per rank, 0 at first, with prefix sums.

    The structure is a tree. Each node keeps the sums of its branches and computes them again after
    a change below, so that rounding errors do not accumulate and the order of additions does not
    depend on earlier values. A change or a query takes as many steps as *ranks*, the largest number
    of ranks, has digits in base :data:`BRANCHES`.
    """

    def __init__(self, ranks: int) -> None:
        depths = 1
        while ranks > BRANCHES**depths:
            depths += 1
        self._nodes: list[tuple[int, dict[int, list[float]]]]
        """Per depth from the leaves: the shift of a rank that gives its branch, and the nodes."""
        self._nodes = [(BRANCH_BITS * depth, {}) for depth in range(depths)]

    def add(self, rank: int, amount: float) -> None:
        """Add *amount* to the number of *rank*."""
        leaf = self._nodes[0][1].get(rank >> BRANCH_BITS)
        self._put(rank, (leaf[rank % BRANCHES] if leaf else 0.0) + amount)

    def clear(self, rank: int) -> None:
        """Set the number of *rank* to 0."""
        self._put(rank, 0.0)

    def up_to(self, rank: int) -> float:
        """Return the sum of ranks 0 to *rank*."""
        result = 0.0
        for shift, nodes in reversed(self._nodes):
            node = nodes.get(rank >> shift >> BRANCH_BITS)
            if node:
                # Only the leaf level includes the rank itself; higher levels add whole branches.
                result += total(node[: (rank >> shift) % BRANCHES + (not shift)])
        return result

    def _put(self, rank: int, amount: float) -> None:
        for shift, nodes in self._nodes:
            place = rank >> shift
            node = nodes.get(place >> BRANCH_BITS)
            if node is None:
                node = nodes[place >> BRANCH_BITS] = [0.0] * BRANCHES
            node[place % BRANCHES] = amount
            amount = total(node)
            if not any(node):  # an empty node takes no memory
                del nodes[place >> BRANCH_BITS]


class WeighedTasks(SortedTasks):
    """Tasks by priority, with the total duration of the most urgent levels on one worker.

    *lengths* has the expected duration of each task in seconds; an unknown one counts as 0.
    *counts* tells whether :meth:`count_ahead` is needed.
    """

    def __init__(
        self,
        priority: Sequence[int],
        ranks: PriorityRanks,
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


class EndsAhead(Ends):
    """Expected ends of more urgent tasks.

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
        super().__init__(workers, start, length)
        self._pipeline, self._queues = pipeline, queues
        self.task = 0

    def earliest(self, now: float, limit: float = -inf) -> tuple[float, int]:
        """Return the earliest expected end and its worker; ends up to *limit* are ties."""
        best, first = -1, inf
        for worker in self._workers:
            end = self.end_of(worker, now)
            if end <= limit:
                return end, worker
            if end < first:
                best, first = worker, end
        return first, best

    def end_of(self, worker: int, now: float) -> float:
        """Return the expected end of one worker."""
        start, pipeline, length = self._start[worker], self._pipeline[worker], self._length[worker]
        return (start if start > now else now) + self._queues[worker].ahead(
            self.task, pipeline, length
        )


class DataAwareSortedDecision(DataAwareSorted):
    """The dmdas policy with decisions that count only queued tasks that would run earlier.

    This is StarPU's ``dmdasd`` for an application that declares no range of priorities. A decision
    has to look at the queue of each worker.
    """

    name: ClassVar[str] = "dmdasd"
    core: ClassVar[str] = "dmdasd"

    def attach(self, view: View, rng: random.Random) -> None:
        """Start with empty queues."""
        self._ahead_of: list[EndsAhead] = []
        self._sorted: list[WeighedTasks] = []
        self._ranks = PriorityRanks(view.priority)
        # Only decisions about unknown durations need the numbers of queued tasks.
        self._counts = any(not length > 0.0 for row in view.estimates for length in row)
        super().attach(view, rng)

    def choose(self, task: int) -> Choice:
        """Return the worker with the least fitness for *task*."""
        for ends in self._ahead_of:
            ends.task = task
        return super().choose(task)

    def _new_queue(self, worker: int) -> TaskList:
        view = self.view
        lengths = view.estimates[view.class_of[worker]]
        new_level = level_maker(view, self._memory[worker], ready_first=self.ready_first)
        queue = WeighedTasks(view.priority, self._ranks, lengths, new_level, counts=self._counts)
        self._sorted.append(queue)
        return queue

    def _new_ends(self, workers: tuple[int, ...]) -> Ends:
        ends = EndsAhead(workers, self._exp_start, self._exp_len, self._pipeline_len, self._sorted)
        self._ahead_of.append(ends)
        return ends

    def _ahead(self, worker: int, task: int, queued: int) -> int:
        count = self._sorted[worker].count_ahead(task)
        return queued if count is None else count
