"""IPPTS, PEFT's relative that predicts a task's successors with the task's own duration."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tasksim.schedulers.static.follower import StaticScheduler
from tasksim.schedulers.static.plan import Timetable
from tasksim.schedulers.static.problem import memory_of_class
from tasksim.schedulers.static.ranked import by_rank, ready_order

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.schedulers.static.plan import Plan
    from tasksim.schedulers.static.problem import Problem

__all__ = ["Ippts", "ippts", "predicted_costs"]


def predicted_costs(problem: Problem) -> NDArray[np.float64]:
    """Return the predict cost matrix: a predicted time from the start of each task to the end.

    Entry (task, class) is for a task on a worker of the class. It is the maximum over the task's
    successors of the least sum, over classes, of the successor's entry, the successor's duration
    and the task's own duration there, and the time to send the data to it; it is the task's
    duration if there is no successor. Communication takes its mean time, and no time within one
    memory. A class that cannot run the task itself counts with the task's mean duration, since the
    successor may run there nevertheless.
    """
    memory = memory_of_class(problem)
    apart = memory[:, None] != memory
    communication = problem.mean_communication_s(apart=True)
    own = _mean_where_unable(problem)
    table = own.copy()
    target = problem.edges.target
    bounds = list(pairwise(problem.edges.ptr.tolist()))
    for task in range(problem.tasks - 1, -1, -1):
        rows = slice(*bounds[task])
        after = target[rows]
        if len(after):
            there = table[after] + problem.costs_s[after] + own[task]
            sent = there[:, :, None] + communication[rows, None, None] * apart
            table[task] = sent.min(axis=1).max(axis=0)
    return table


def _mean_where_unable(problem: Problem) -> NDArray[np.float64]:
    """Return the durations, with a task's mean for each class that cannot run it."""
    costs = problem.costs_s
    return np.where(np.isfinite(costs), costs, problem.mean_costs_s[:, None])


def ippts(problem: Problem) -> Plan:
    """Return the plan of IPPTS.

    Among the tasks whose predecessors are placed, the one with the highest product of its mean over
    the workers in the predict cost matrix and its number of successors comes first. It goes to the
    worker with the least sum of its end and its entry in the matrix, less its duration there, in a
    gap if one is long enough. H. Djigal, J. Feng, J. Lu, J. Ge, "IPPTS: an efficient algorithm for
    scientific workflow scheduling in heterogeneous computing systems", IEEE Transactions on
    Parallel and Distributed Systems 32(5), 2021.
    """
    predicted = predicted_costs(problem)
    rank = predicted[:, problem.class_of].mean(axis=1) * np.diff(problem.edges.ptr)
    onward = (predicted - _mean_where_unable(problem))[:, problem.class_of]
    table = Timetable(problem)
    for task in ready_order(problem, by_rank(rank)):
        starts = table.starts(task)
        worker = int((np.array(table.ends(task, starts)) + onward[task]).argmin())
        table.place(task, worker, starts[worker])
    return table.plan()


class Ippts(StaticScheduler):
    """A static plan like PEFT's, with tasks of many successors first (IPPTS)."""

    name: ClassVar[str] = "ippts"
    core: ClassVar[str] = "static"

    def make_plan(self, problem: Problem) -> Plan:
        """Return the plan of :func:`ippts`."""
        return ippts(problem)
