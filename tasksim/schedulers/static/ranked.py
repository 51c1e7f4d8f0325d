"""HEFT, HEFT with lookahead, and CPOP: list scheduling by ranks of tasks."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tasksim.schedulers.static.compiled import compiled_plan
from tasksim.schedulers.static.follower import StaticScheduler
from tasksim.schedulers.static.plan import Countdown, Timetable
from tasksim.schedulers.static.problem import backward

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike

    from tasksim.base.arrays import Bools, Floats
    from tasksim.schedulers.static.plan import Plan
    from tasksim.schedulers.static.problem import Problem

__all__ = [
    "Cpop",
    "Heft",
    "Lookahead",
    "by_rank",
    "cpop",
    "critical_tasks",
    "downward_ranks",
    "equal",
    "fastest_worker",
    "heft",
    "lookahead",
    "ready_order",
    "upward_ranks",
]

MAX_LISTED_TASKS = 64
"""Most tasks that are ordered without arrays."""
RELATIVE_RANK_TOLERANCE = 1e-10
"""Difference of equal ranks, relative to the largest rank: sums of means have rounding errors."""


def upward_ranks(problem: Problem) -> Floats:
    """Return, per task, the length of the longest path from its start to the end, in seconds.

    Durations are means over workers and communication times are means over pairs of workers
    (H. Topcuoglu, S. Hariri, M.-Y. Wu, IEEE TPDS 13(3), 2002, equations 7 and 8).
    """
    rank: list[float] = problem.mean_costs_s.tolist()
    communication: list[float] = problem.mean_communication_s().tolist()
    target: list[int] = problem.edges.target.tolist()
    for task, rows in backward(problem):
        onward = zip(communication[rows], target[rows], strict=True)
        rank[task] += max([sent + rank[after] for sent, after in onward])
    return np.array(rank, dtype=np.float64)


def downward_ranks(problem: Problem) -> Floats:
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


def equal(ranks: Floats, value: float) -> Bools:
    """Return a mask of the *ranks* that equal *value* within the tolerance."""
    return np.abs(ranks - value) <= _tolerance(ranks)


def _tolerance(ranks: Floats) -> float:
    return RELATIVE_RANK_TOLERANCE * float(np.abs(ranks).max(initial=0.0))


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
    algorithm = staticmethod(heft)


def lookahead(problem: Problem) -> Plan:
    """Return the plan of HEFT with lookahead.

    Tasks come by falling upward rank, as in HEFT. Each goes to the worker with which the latest of
    its successors ends first, if these were placed next by HEFT, with the predecessors that are
    placed already; a task without successors to where it ends first. A tie goes to the earlier end
    of the task, then to the lowest number. L. F. Bittencourt, R. Sakellariou, E. R. M. Madeira,
    "DAG scheduling using a lookahead variant of the heterogeneous earliest finish time algorithm",
    PDP 2010, section III (no change of priorities).
    """
    order = by_rank(upward_ranks(problem))
    rank = {task: place for place, task in enumerate(order)}
    edges = problem.edges
    table = Timetable(problem)
    for task in order:
        starts = table.starts(task)
        ends = table.ends(task, starts)
        after = edges.target[edges.ptr[task] : edges.ptr[task + 1]].tolist()
        after.sort(key=rank.__getitem__)
        able = [worker for worker, start in enumerate(starts) if start < float("inf")]
        worker = min(
            able,
            key=lambda w: (_latest(table, task, w, starts[w], after), ends[w], w),
        )
        table.place(task, worker, starts[worker])
    return table.plan()


def _latest(table: Timetable, task: int, worker: int, start: float, after: list[int]) -> float:
    """Return the latest end of the tasks *after* if *task* were placed on *worker*."""
    tried = table.copy()
    end = tried.place(task, worker, start)
    latest = 0.0 if after else end
    for successor in after:
        tried.place_earliest(successor)
        latest = max(latest, tried.end(successor))
    return latest


class Lookahead(StaticScheduler):
    """A static plan by upward rank, with each task where its successors end first (lookahead)."""

    name: ClassVar[str] = "lookahead"
    algorithm = staticmethod(lookahead)


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


def critical_tasks(problem: Problem, priority: Floats) -> list[int]:
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
    countdown = Countdown(problem)
    ready = [position[task] for task in countdown.first]
    heapify(ready)
    while ready:
        task = order[heappop(ready)]
        yield task
        for after in countdown.placed(task):
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
    algorithm = staticmethod(cpop)
