"""CPOP: critical path on a processor."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tasksim.schedulers.static.follower import StaticScheduler
from tasksim.schedulers.static.ranks import by_rank, downward_ranks, equal, upward_ranks
from tasksim.schedulers.static.timeline import Timetable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tasksim.schedulers.static.plan import Plan
    from tasksim.schedulers.static.problem import Problem

__all__ = ["Cpop", "cpop", "critical_tasks", "ready_order"]


def cpop(problem: Problem) -> Plan:
    """Return the plan of CPOP.

    Among the tasks whose predecessors are placed, the one of highest priority comes first; the
    priority is the sum of the upward and the downward rank. The tasks of one critical path go to
    the worker that runs all of them in the least time. Each other task goes to the worker where it
    ends first, in a gap if one is long enough. H. Topcuoglu, S. Hariri, M.-Y. Wu, IEEE TPDS 13(3),
    2002, section 5.2.

    If no worker can run the whole critical path, the worker that can run the most of its tasks
    takes these.
    """
    priority = upward_ranks(problem) + downward_ranks(problem)
    critical = critical_tasks(problem, priority)
    worker = _critical_worker(problem, critical)
    path = set(critical)
    table = Timetable(problem)
    for task in ready_order(problem, by_rank(priority)):
        starts = table.starts(task) if task in path else []
        if starts and np.isfinite(starts[worker]):
            table.place(task, worker, starts[worker])
        else:
            table.place_earliest(task)
    return table.plan()


def critical_tasks(problem: Problem, priority: NDArray[np.float64]) -> list[int]:
    """Return the tasks of a critical path, from first to last.

    The path begins with the first entry task of highest *priority* and goes on with the first
    successor of the same priority.
    """
    if not problem.tasks:
        return []
    entry = np.diff(problem.edges.target_ptr) == 0
    length = float(priority[entry].max())
    on_path = equal(priority, length)
    path = [int(np.flatnonzero(entry & on_path)[0])]
    while True:
        rows = slice(*problem.edges.ptr[path[-1] : path[-1] + 2])
        after = problem.edges.target[rows]
        after = after[on_path[after]]
        if not len(after):
            return path
        path.append(int(after[0]))


def ready_order(problem: Problem, order: Sequence[int]) -> Iterator[int]:
    """Yield all tasks, predecessors first; among ready tasks, the first in *order* comes next."""
    position = [0] * problem.tasks
    for place, task in enumerate(order):
        position[task] = place
    waiting = np.diff(problem.edges.target_ptr).tolist()
    target: list[int] = problem.edges.target.tolist()
    bounds: list[int] = problem.edges.ptr.tolist()
    ready = [position[task] for task, count in enumerate(waiting) if not count]
    heapify(ready)
    while ready:
        task = order[heappop(ready)]
        yield task
        for after in target[bounds[task] : bounds[task + 1]]:
            waiting[after] -= 1
            if not waiting[after]:
                heappush(ready, position[after])


def _critical_worker(problem: Problem, critical: list[int]) -> int:
    """Return the worker that can run the most *critical* tasks; a tie goes to the fastest."""
    costs = problem.costs_s[critical]
    able = np.isfinite(costs)
    count = able.sum(axis=0)[problem.class_of]
    seconds = np.where(able, costs, 0.0).sum(axis=0)[problem.class_of]
    return int(np.lexsort((seconds, -count))[0])


class Cpop(StaticScheduler):
    """A static plan: the critical path on one worker, other tasks where they end first (CPOP)."""

    name: ClassVar[str] = "cpop"
    core: ClassVar[str] = "static"

    def make_plan(self, problem: Problem) -> Plan:
        """Return the plan of :func:`cpop`."""
        return cpop(problem)
