"""PEFT, IPEFT and IPPTS, list scheduling by tables of the time that follows each task."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tasksim.schedulers.static.compiled import compiled_plan
from tasksim.schedulers.static.follower import StaticScheduler
from tasksim.schedulers.static.plan import Timetable
from tasksim.schedulers.static.problem import backward, memory_of_class
from tasksim.schedulers.static.ranked import (
    by_rank,
    downward_ranks,
    equal,
    ready_order,
    upward_ranks,
)

if TYPE_CHECKING:
    from tasksim.base.arrays import Bools, Floats
    from tasksim.schedulers.static.plan import Plan
    from tasksim.schedulers.static.problem import Problem

__all__ = [
    "Ipeft",
    "Ippts",
    "Peft",
    "critical_costs",
    "ipeft",
    "ippts",
    "on_critical_paths",
    "optimistic_costs",
    "peft",
    "pessimistic_costs",
    "predicted_costs",
]


def optimistic_costs(problem: Problem) -> Floats:
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
    return critical_costs(problem, np.ones(problem.tasks, dtype=bool))


def critical_costs(problem: Problem, critical: Bools) -> Floats:
    """Return the critical node cost table.

    It is the optimistic cost table of PEFT, but if some successors of a task are *critical*, only
    these count.
    """
    return _table(problem, problem.costs_s.copy(), np.minimum, critical)


def pessimistic_costs(problem: Problem) -> Floats:
    """Return the pessimistic cost table: the longest time that may follow each task.

    Entry (task, class) is for a task on a worker of the class. It is the maximum, over the task's
    successors and the classes that can run them, of the time from the end of the task to the end of
    the graph. Communication takes its mean time, and no time within one memory.
    """
    onward = np.where(np.isfinite(problem.costs_s), problem.costs_s, -np.inf)
    return _table(problem, onward, np.maximum, np.ones(problem.tasks, dtype=bool))


def _table(problem: Problem, onward: Floats, choose: np.ufunc, counts: Bools) -> Floats:
    """Return per task and class the longest time after it, on classes that *choose* picks.

    If some successors have *counts*, the others do not count. *onward* has the durations.
    """
    communication, apart = _communication(problem)
    table = np.zeros(onward.shape)
    for task, edges in backward(problem):
        rows = np.arange(edges.start, edges.stop)
        chosen = counts[problem.edges.target[rows]]
        rows = rows[chosen] if chosen.any() else rows
        after = onward[problem.edges.target[rows]][:, :, None] + communication[rows] * apart
        table[task] = choose.reduce(after, axis=1).max(axis=0)
        onward[task] += table[task]
    return table


def _communication(problem: Problem) -> tuple[Floats, Bools]:
    """Return the mean time of each edge, and which classes have different memories."""
    memory = memory_of_class(problem)
    times = problem.mean_communication_s(apart=True)
    return times[:, None, None], memory[:, None] != memory


def predicted_costs(problem: Problem) -> Floats:
    """Return the predict cost matrix: a predicted time from the start of each task to the end.

    Entry (task, class) is for a task on a worker of the class. It is the maximum over the task's
    successors of the least sum, over classes, of the successor's entry, the successor's duration
    and the task's own duration there, and the time to send the data to it; it is the task's
    duration if there is no successor. Communication takes its mean time, and no time within one
    memory. A class that cannot run the task itself counts with the task's mean duration, since the
    successor may run there nevertheless.
    """
    communication, apart = _communication(problem)
    own = _mean_where_unable(problem)
    table = own.copy()
    for task, rows in backward(problem):
        after = problem.edges.target[rows]
        there = table[after] + problem.costs_s[after] + own[task]
        sent = there[:, :, None] + communication[rows] * apart
        table[task] = sent.min(axis=1).max(axis=0)
    return table


def _mean_where_unable(problem: Problem) -> Floats:
    """Return the durations, with a task's mean for each class that cannot run it."""
    costs = problem.costs_s
    return np.where(np.isfinite(costs), costs, problem.mean_costs_s[:, None])


def on_critical_paths(problem: Problem) -> Bools:
    """Return a mask of the tasks on critical paths: their mean earliest and latest starts agree."""
    length = upward_ranks(problem) + downward_ranks(problem)
    return equal(length, float(length.max(initial=0.0)))


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
    onward = optimistic_costs(problem)[:, problem.class_of]
    return _planned(problem, onward.mean(axis=1), onward)


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
    return _planned(problem, rank, onward[:, problem.class_of])


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
    return _planned(problem, rank, onward)


def _planned(problem: Problem, rank: Floats, onward: Floats) -> Plan:
    """Return the plan in which each task, the ready ones by *rank*, ends first with *onward*."""
    table = Timetable(problem)
    for task in ready_order(problem, by_rank(rank)):
        starts = table.starts(task)
        worker = int((np.array(table.ends(task, starts)) + onward[task]).argmin())
        table.place(task, worker, starts[worker])
    return table.plan()


class Peft(StaticScheduler):
    """A static plan with each task where it and its successors can end first (PEFT)."""

    name: ClassVar[str] = "peft"
    algorithm = staticmethod(peft)


class Ipeft(StaticScheduler):
    """A static plan like PEFT's, with pessimistic ranks and care for the critical path (IPEFT)."""

    name: ClassVar[str] = "ipeft"
    algorithm = staticmethod(ipeft)


class Ippts(StaticScheduler):
    """A static plan like PEFT's, with tasks of many successors first (IPPTS)."""

    name: ClassVar[str] = "ippts"
    algorithm = staticmethod(ippts)
