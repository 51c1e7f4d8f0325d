"""IPEFT, PEFT's relative with a pessimistic rank and an eye on the critical path."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tasksim.schedulers.static.follower import StaticScheduler
from tasksim.schedulers.static.plan import Timetable
from tasksim.schedulers.static.problem import memory_of_class
from tasksim.schedulers.static.ranked import (
    by_rank,
    downward_ranks,
    equal,
    ready_order,
    upward_ranks,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.schedulers.static.plan import Plan
    from tasksim.schedulers.static.problem import Problem

__all__ = ["Ipeft", "critical_costs", "ipeft", "on_critical_paths", "pessimistic_costs"]


def on_critical_paths(problem: Problem) -> NDArray[np.bool_]:
    """Return a mask of the tasks on critical paths: their mean earliest and latest starts agree."""
    length = upward_ranks(problem) + downward_ranks(problem)
    return equal(length, float(length.max(initial=0.0)))


def pessimistic_costs(problem: Problem) -> NDArray[np.float64]:
    """Return the pessimistic cost table: the longest time that may follow each task.

    Entry (task, class) is for a task on a worker of the class. It is the maximum, over the task's
    successors and the classes that can run them, of the time from the end of the task to the end of
    the graph. Communication takes its mean time, and no time within one memory.
    """
    onward = np.where(np.isfinite(problem.costs_s), problem.costs_s, -np.inf)
    return _table(problem, onward, np.maximum, np.ones(problem.tasks, dtype=bool))


def critical_costs(problem: Problem, critical: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the critical node cost table.

    It is the optimistic cost table of PEFT, but if some successors of a task are *critical*, only
    these count.
    """
    return _table(problem, problem.costs_s.copy(), np.minimum, critical)


def _table(
    problem: Problem, onward: NDArray[np.float64], choose: np.ufunc, counts: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return per task and class the longest time after it, on classes that *choose* picks.

    If some successors have *counts*, the others do not count. *onward* has the durations.
    """
    memory = memory_of_class(problem)
    apart = memory[:, None] != memory
    communication = problem.mean_communication_s(apart=True)
    target = problem.edges.target
    table = np.zeros(onward.shape)
    bounds = list(pairwise(problem.edges.ptr.tolist()))
    for task in range(problem.tasks - 1, -1, -1):
        rows = np.arange(*bounds[task])
        if counts[target[rows]].any():
            rows = rows[counts[target[rows]]]
        if len(rows):
            after = onward[target[rows]][:, :, None] + communication[rows, None, None] * apart
            table[task] = choose.reduce(after, axis=1).max(axis=0)
            onward[task] += table[task]
    return table


def ipeft(problem: Problem) -> Plan:
    """Return the plan of IPEFT.

    Among the tasks whose predecessors are placed, the one with the highest sum of its mean duration
    and its mean over the workers in the pessimistic cost table comes first. It goes to the worker
    with the least sum of its end and its entry in the critical node cost table, in a gap if one is
    long enough; but a task off the critical paths that has a successor on them goes to where it
    ends first. N. Zhou, D. Qi, X. Wang, Z. Zheng, W. Lin, "A list scheduling algorithm for
    heterogeneous systems based on a critical node cost table and pessimistic cost table",
    Concurrency and Computation: Practice and Experience 29(5), 2017.
    """
    critical = on_critical_paths(problem)
    rank = pessimistic_costs(problem)[:, problem.class_of].mean(axis=1) + problem.mean_costs_s
    onward = critical_costs(problem, critical)
    edges = problem.edges
    before = np.bincount(edges.source, critical[edges.target], problem.tasks) > 0
    onward[before & ~critical] = 0.0
    table = Timetable(problem)
    for task in ready_order(problem, by_rank(rank)):
        starts = table.starts(task)
        ends = np.array(table.ends(task, starts))
        worker = int((ends + onward[task, problem.class_of]).argmin())
        table.place(task, worker, starts[worker])
    return table.plan()


class Ipeft(StaticScheduler):
    """A static plan like PEFT's, with pessimistic ranks and care for the critical path (IPEFT)."""

    name: ClassVar[str] = "ipeft"
    core: ClassVar[str] = "static"

    def make_plan(self, problem: Problem) -> Plan:
        """Return the plan of :func:`ipeft`."""
        return ipeft(problem)
