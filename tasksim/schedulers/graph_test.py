"""The ``graph_test`` scheduler, which orders tasks by their depth in the whole graph.

Each task goes to the faster kind of worker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tasksim.base.arguments import switch
from tasksim.schedulers.base import HOST_ARCHITECTURE, Scheduler, View, option_of
from tasksim.schedulers.queues import PriorityQueue

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from tasksim.graph.csr import Int64
    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["GraphTest", "depths", "descendants"]


class GraphTest(Scheduler):
    """Deepest task first, started only after the graph is complete.

    This is StarPU's ``graph_test`` (``graph_test_policy.c``), where waiting for all tasks starts
    the schedule. Ready tasks wait in a bag until all initially ready tasks have been pushed.
    The priority of a task is the number of dependencies on the longest path from it to the end of
    the graph; with ``descendants=1`` it is the number of tasks that depend on it. The
    application's priorities have no effect. The CPUs have one queue and the accelerators another:
    a task goes to the kind whose workers together run it faster, that is, with the larger sum of
    inverse durations.
    """

    name: ClassVar[str] = "graph_test"
    core: ClassVar[str] = "graph_test"
    needs_estimates: ClassVar[bool] = True

    def __init__(self, descendants: int = 0) -> None:
        self.descendants = switch(descendants, option_of(self, "descendants"))

    def core_options(self) -> dict[str, float]:
        """Return whether priorities count descendants."""
        return {"descendants": self.descendants}

    def core_tables(self, view: View, rng: random.Random) -> dict[str, Int64]:  # noqa: ARG002
        """Return which workers are CPUs."""
        hosts = [worker.architecture == HOST_ARCHITECTURE for worker in view.workers]
        return {"host": np.array(hosts, dtype=np.int64)}

    def attach(self, view: View, rng: random.Random) -> None:
        """Compute the priorities and start with an empty bag."""
        super().attach(view, rng)
        graph = view.graph
        priority = descendants(graph) if self.descendants else depths(graph)
        self._host = [worker.architecture == HOST_ARCHITECTURE for worker in view.workers]
        self._queues = (_GraphQueue(view, priority, 0), _GraphQueue(view, priority, 1))
        self._sides = [
            [worker.id for worker in view.workers if self._host[worker.id] == host]
            for host in (False, True)
        ]
        self._kinds = [
            (1 << index, index, len(group.workers), self._host[group.workers[0]])
            for index, group in enumerate(view.classes)
        ]
        self._told = [False] * len(view.workers)
        self._bag: list[int] = []
        self._awaited = len(view.first_ready)

    def push(self, task: int) -> None:
        """Queue *task* and wake one worker for it; put it in the bag if tasks are missing."""
        if not self._awaited:
            self._wake(task, self._queue(task))
            return
        self._bag.append(task)
        self._awaited -= 1
        if not self._awaited:
            for each in self._bag:
                self._queue(each)
            self._bag.clear()
            for worker in self.view.workers:
                self.view.wake(worker.id)

    def pop(self, worker: int) -> int | None:
        """Return the first task that *worker* can run from the queue of its kind."""
        self._told[worker] = False
        return None if self._awaited else self._queues[self._host[worker]].pop(worker)

    def _queue(self, task: int) -> bool:
        """Queue *task* for one kind of workers; return whether these are the CPUs."""
        mask, speed, able = self.view.able[task], [0.0, 0.0], [False, False]
        for bit, index, workers, host in self._kinds:
            if mask & bit:
                duration = self.view.estimates[index][task]
                able[host] = True
                # A duration of zero or NaN (unknown) adds nothing.
                speed[host] += workers / duration if duration > 0.0 else 0.0
        side = able[True] and (not able[False] or speed[True] > speed[False])
        self._queues[side].push(task)
        return side

    def _wake(self, task: int, side: bool) -> None:
        view = self.view
        for worker in self._sides[side]:
            if view.sleeping(worker) and not self._told[worker] and view.can_run(task, worker):
                self._told[worker] = True
                view.wake(worker)
                return


class _GraphQueue(PriorityQueue):
    """A queue sorted by given priorities instead of the application's."""

    def __init__(self, view: View, priority: Sequence[int], number: int) -> None:
        super().__init__(view, number)
        self._priority = priority


def depths(graph: TaskGraph) -> list[int]:
    """Return, per task, the dependencies on the longest path from it to the end of *graph*.

    >>> from tasksim.graph.builder import GraphBuilder
    >>> g = GraphBuilder("path")
    >>> first = g.insert("task")
    >>> second = g.insert("task", after=[first])
    >>> depths(g.build())
    [1, 0]
    """
    successors, end = graph.successors.tolist(), len(graph.successors)
    depth = [0] * len(graph)
    begins = graph.successor_ptr.tolist()
    for task in range(len(graph) - 1, -1, -1):
        begin = begins[task]
        if begin < end:
            depth[task] = 1 + max([depth[after] for after in successors[begin:end]])
            end = begin
    return depth


def descendants(graph: TaskGraph) -> list[int]:
    """Return, per task, the number of tasks that depend on it, directly or indirectly.

    >>> from tasksim.graph.builder import GraphBuilder
    >>> g = GraphBuilder("fork")
    >>> first = g.insert("task")
    >>> for _ in range(3):
    ...     _ = g.insert("task", after=[first])
    >>> descendants(g.build())
    [3, 0, 0, 0]
    """
    successors, end = graph.successors.tolist(), len(graph.successors)
    begins, waiting = graph.successor_ptr.tolist(), graph.predecessor_count.tolist()
    # A set of tasks is an integer with one bit per task. It is dropped after the last predecessor
    # has read it, to save memory.
    reached: dict[int, int] = {}
    counts = [0] * len(graph)
    for task in range(len(graph) - 1, -1, -1):
        begin, below = begins[task], 0
        for after in successors[begin:end]:
            below |= reached[after] | 1 << after
            waiting[after] -= 1
            if not waiting[after]:
                del reached[after]
        end = begin
        counts[task] = below.bit_count()
        if waiting[task]:
            reached[task] = below
    return counts
