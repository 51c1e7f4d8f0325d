"""HEFT, CPOP and PEFT, list scheduling by ranks of tasks."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tasksim.schedulers.static.compiled import compiled_plan
from tasksim.schedulers.static.follower import StaticScheduler
from tasksim.schedulers.static.plan import Timetable
from tasksim.schedulers.static.problem import memory_of_class

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from tasksim.schedulers.static.plan import Plan
    from tasksim.schedulers.static.problem import Problem

__all__ = [
    "Cpop",
    "Heft",
    "Peft",
    "by_rank",
    "cpop",
    "critical_tasks",
    "downward_ranks",
    "equal",
    "fastest_worker",
    "heft",
    "optimistic_costs",
    "peft",
    "ready_order",
    "upward_ranks",
]

MAX_LISTED_TASKS = 64
"""Most tasks that are ordered without arrays."""
RELATIVE_RANK_TOLERANCE = 1e-10
"""Difference of equal ranks, relative to the largest rank: sums of means have rounding errors."""


def upward_ranks(problem: Problem) -> NDArray[np.float64]:
    """Return, per task, the length of the longest path from its start to the end, in seconds.

    Durations are means over workers and communication times are means over pairs of workers
    (H. Topcuoglu, S. Hariri, M.-Y. Wu, IEEE TPDS 13(3), 2002, equations 7 and 8).
    """
    rank: list[float] = problem.mean_costs_s.tolist()
    communication: list[float] = problem.mean_communication_s().tolist()
    target: list[int] = problem.edges.target.tolist()
    bounds = list(pairwise(problem.edges.ptr.tolist()))
    for task in range(len(rank) - 1, -1, -1):
        begin, end = bounds[task]
        if begin < end:
            rank[task] += max([communication[k] + rank[target[k]] for k in range(begin, end)])
    return np.array(rank, dtype=np.float64)


def downward_ranks(problem: Problem) -> NDArray[np.float64]:
    """Return, per task, the length of the longest path from the beginning to its start, in seconds.

    Means are those of :func:`upward_ranks` (same paper, equation 9).
    """
    mean: list[float] = problem.mean_costs_s.tolist()
    communication: list[float] = problem.mean_communication_s().tolist()
    rank = [0.0] * len(mean)
    target: list[int] = problem.edges.target.tolist()
    for task, (begin, end) in enumerate(pairwise(problem.edges.ptr.tolist())):
        done = rank[task] + mean[task]
        for k in range(begin, end):
            rank[target[k]] = max(rank[target[k]], done + communication[k])
    return np.array(rank, dtype=np.float64)


def optimistic_costs(problem: Problem) -> NDArray[np.float64]:
    """Return the optimistic cost table: an optimistic time that must follow each task.

    Entry (task, class) is for a task on a worker of the class. It is the maximum over the task's
    successors of the least time from the end of the task to the end of the graph, if every task
    could choose its worker freely. Communication takes its mean time, and no time within one
    memory (H. Arabnejad, J. G. Barbosa, "List scheduling algorithm for heterogeneous systems by an
    optimistic cost table", IEEE TPDS 25(3), 2014, equation 6).

    Returns
    -------
    ndarray, shape (tasks, classes)
        Times in seconds; zero for tasks without successors.
    """
    classes = problem.costs_s.shape[1]
    table = np.zeros((problem.tasks, classes))
    onward = problem.costs_s.copy()
    communication = problem.mean_communication_s(apart=True)[:, None]
    target = problem.edges.target
    bounds = list(pairwise(problem.edges.ptr.tolist()))
    least_near = _least_within_memories(problem)
    for task in range(problem.tasks - 1, -1, -1):
        begin, end = bounds[task]
        if begin < end:
            after = onward[target[begin:end]]
            far = after.min(axis=1, keepdims=True) + communication[begin:end]
            table[task] = np.minimum(least_near(after), far).max(axis=0)
            onward[task] += table[task]
    return table


def by_rank(ranks: ArrayLike) -> list[int]:
    """Return the tasks by falling rank, and ties in order of number.

    Ranks are compared with a tolerance: sums of means that are equal on paper differ in their last
    digits, and chance would decide ties such as tasks 3 and 4 in the example of the HEFT paper,
    both of rank 80.

    >>> by_rank([1.0, 0.1 + 0.2, 0.3, 1.0])
    [0, 3, 1, 2]
    """
    values = np.asarray(ranks, dtype=np.float64)
    if len(values) <= MAX_LISTED_TASKS:
        return _few_by_rank(values.tolist(), _tolerance(values))
    falling = np.argsort(-values, kind="stable")
    steps = -np.diff(values[falling], prepend=values[falling[:1]])
    group = np.cumsum(steps > _tolerance(values))
    order: list[int] = falling[np.lexsort((falling, group))].tolist()
    return order


def _few_by_rank(ranks: list[float], tolerance: float) -> list[int]:
    """Return the same for few tasks, without arrays: they cost more than the comparisons."""
    falling = sorted(range(len(ranks)), key=lambda task: -ranks[task])
    group, groups = 0, []
    for place, task in enumerate(falling):
        if place and ranks[falling[place - 1]] - ranks[task] > tolerance:
            group += 1
        groups.append((group, task))
    return [task for _, task in sorted(groups)]


def equal(ranks: NDArray[np.float64], value: float) -> NDArray[np.bool_]:
    """Return a mask of the *ranks* that equal *value* within the tolerance."""
    return np.abs(ranks - value) <= _tolerance(ranks)


def _tolerance(ranks: NDArray[np.float64]) -> float:
    return RELATIVE_RANK_TOLERANCE * float(np.abs(ranks).max(initial=0.0))


def _least_within_memories(
    problem: Problem,
) -> Callable[[NDArray[np.float64]], NDArray[np.float64]]:
    """Return a function that replaces the column of each class by the minimum in its memory."""
    memory = memory_of_class(problem)
    if len(np.unique(memory)) == len(memory):
        return lambda table: table
    order = np.argsort(memory, kind="stable")
    _, starts, back = np.unique(memory, return_index=True, return_inverse=True)
    first = np.searchsorted(memory[order], memory[starts])

    def least(table: NDArray[np.float64]) -> NDArray[np.float64]:
        reduced: NDArray[np.float64] = np.minimum.reduceat(table[:, order], first, axis=1)
        return reduced[:, back]

    return least


def heft(problem: Problem) -> Plan:
    """Return the plan of HEFT.

    Tasks are placed by falling upward rank. Each goes to the worker where it ends first, in a gap
    if one is long enough. H. Topcuoglu, S. Hariri, M.-Y. Wu, "Performance-effective and
    low-complexity task scheduling for heterogeneous computing", IEEE Transactions on Parallel and
    Distributed Systems 13(3), 2002, section 5.1.
    """
    if (made := compiled_plan(problem, "heft")) is not None:
        return made
    table = Timetable(problem)
    for task in by_rank(upward_ranks(problem)):
        table.place_earliest(task)
    return table.plan()


class Heft(StaticScheduler):
    """A static plan by upward rank, with each task where it ends first, gaps included (HEFT)."""

    name: ClassVar[str] = "heft"
    core: ClassVar[str] = "static"

    def make_plan(self, problem: Problem) -> Plan:
        """Return the plan of :func:`heft`."""
        return heft(problem)


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
    if (made := compiled_plan(problem, "cpop")) is not None:
        return made
    priority = upward_ranks(problem) + downward_ranks(problem)
    critical = critical_tasks(problem, priority)
    worker = fastest_worker(problem, critical)
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


def fastest_worker(problem: Problem, tasks: Sequence[int]) -> int:
    """Return the worker that can run the most of *tasks*; a tie goes to the fastest."""
    costs = problem.costs_s[tasks]
    able = np.isfinite(costs)
    count = able.sum(axis=0)[problem.class_of]
    seconds = np.where(able, costs, 0.0).sum(axis=0)[problem.class_of]
    return int(np.lexsort((seconds, -count))[0])


class Cpop(StaticScheduler):
    """A static plan with the critical path on one worker, and others where they end first."""

    name: ClassVar[str] = "cpop"
    core: ClassVar[str] = "static"

    def make_plan(self, problem: Problem) -> Plan:
        """Return the plan of :func:`cpop`."""
        return cpop(problem)


def peft(problem: Problem) -> Plan:
    """Return the plan of PEFT.

    Among the tasks whose predecessors are placed, the one with the highest mean over the workers in
    the optimistic cost table comes first. It goes to the worker with the least sum of its end and
    its entry in the table, in a gap if one is long enough. H. Arabnejad, J. G. Barbosa, "List
    scheduling algorithm for heterogeneous systems by an optimistic cost table", IEEE Transactions
    on Parallel and Distributed Systems 25(3), 2014, section 4.
    """
    if (made := compiled_plan(problem, "peft")) is not None:
        return made
    optimistic = optimistic_costs(problem)
    rank = optimistic[:, problem.class_of].mean(axis=1)
    table = Timetable(problem)
    for task in ready_order(problem, by_rank(rank)):
        starts = table.starts(task)
        onward: list[float] = optimistic[task, problem.class_of].tolist()
        ends = table.ends(task, starts)
        finish = [end + more for end, more in zip(ends, onward, strict=True)]
        worker = finish.index(min(finish))
        table.place(task, worker, starts[worker])
    return table.plan()


class Peft(StaticScheduler):
    """A static plan with each task where it and its successors can end first (PEFT)."""

    name: ClassVar[str] = "peft"
    core: ClassVar[str] = "static"

    def make_plan(self, problem: Problem) -> Plan:
        """Return the plan of :func:`peft`."""
        return peft(problem)
