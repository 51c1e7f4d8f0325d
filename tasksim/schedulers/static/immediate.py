"""Static plans that place tasks in the order of submission: MCT, MET, OLB and the fastest node.

Their source is T. D. Braun et al., "A comparison of eleven static heuristics for mapping a class of
independent tasks onto heterogeneous distributed computing systems", Journal of Parallel and
Distributed Computing 61(6), 2001, section 3. Tasks of a graph come in its order, in which
predecessors are first. Ties go to the worker of lowest number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tasksim.base.arguments import one_of
from tasksim.schedulers.base import option_of
from tasksim.schedulers.static.compiled import compiled_plan
from tasksim.schedulers.static.follower import StaticScheduler
from tasksim.schedulers.static.plan import Timetable
from tasksim.schedulers.static.ranked import fastest_worker

if TYPE_CHECKING:
    from tasksim.schedulers.static.plan import Plan
    from tasksim.schedulers.static.problem import Problem

__all__ = ["FastestNode", "Mct", "Met", "Olb", "fastest_node", "mct", "met", "olb"]

TIE_CHOICES = ("first", "free")
"""Choices of MET among the workers of least duration: the first, or the one that is free first."""


def mct(problem: Problem) -> Plan:
    """Return the plan of minimum completion time: each task goes where it ends first."""
    if (made := compiled_plan(problem, "mct")) is not None:
        return made
    table = Timetable(problem)
    for task in range(problem.tasks):
        table.place_earliest(task, insertion=False)
    return table.plan()


def olb(problem: Problem) -> Plan:
    """Return the plan of opportunistic load balancing: each task goes to the worker free first."""
    if (made := compiled_plan(problem, "olb")) is not None:
        return made
    table = Timetable(problem)
    for task in range(problem.tasks):
        able = np.isfinite(problem.costs_s[task, problem.class_of])
        worker = int(np.where(able, table.free, np.inf).argmin())
        table.place(task, worker, table.starts_after_all(task)[worker])
    return table.plan()


def met(problem: Problem, *, ties: str = "first") -> Plan:
    """Return the plan of minimum execution time: each task goes where its duration is least.

    Parameters
    ----------
    problem : Problem
        The problem to plan.
    ties : {"first", "free"}
        Whether the first of the workers of least duration is taken, as the paper's machines, no two
        of which are alike, leave open, or the one that is free first.
    """
    if (made := compiled_plan(problem, "met", ties == "free")) is not None:
        return made
    table = Timetable(problem)
    for task in range(problem.tasks):
        costs = problem.costs_s[task, problem.class_of]
        least = costs == costs.min()
        worker = int(np.where(least, table.free if ties == "free" else 0.0, np.inf).argmin())
        table.place(task, worker, table.starts_after_all(task)[worker])
    return table.plan()


def fastest_node(problem: Problem) -> Plan:
    """Return the plan with all tasks on one worker: the one that runs them all in the least time.

    Tasks that it cannot run go where they end first. It is the serial schedule to which parallel
    ones are compared (H. Topcuoglu, S. Hariri, M.-Y. Wu, IEEE TPDS 13(3), 2002, section 6.1).
    """
    if (made := compiled_plan(problem, "fastest-node")) is not None:
        return made
    fastest = fastest_worker(problem, range(problem.tasks))
    table = Timetable(problem)
    for task in range(problem.tasks):
        starts = table.starts_after_all(task)
        if np.isfinite(starts[fastest]):
            table.place(task, fastest, starts[fastest])
        else:
            table.place_earliest(task, insertion=False)
    return table.plan()


class Mct(StaticScheduler):
    """A static plan in submission order, with each task where it ends first (MCT)."""

    name: ClassVar[str] = "mct"
    algorithm = staticmethod(mct)


class Olb(StaticScheduler):
    """A static plan in submission order, with each task on the worker that is free first (OLB)."""

    name: ClassVar[str] = "olb"
    algorithm = staticmethod(olb)


class Met(StaticScheduler):
    """A static plan in submission order, with each task where its duration is least (MET).

    Parameters
    ----------
    order : {"strict", "ready"}
        As for all static schedulers.
    ties : {"first", "free"}
        The worker among those of least duration: the first, or the one that is free first.
    """

    name: ClassVar[str] = "met"
    algorithm = staticmethod(met)

    def __init__(self, order: str = "strict", ties: str = "first") -> None:
        super().__init__(order)
        self._options = {"ties": one_of(ties, TIE_CHOICES, option_of(self, "ties"))}


class FastestNode(StaticScheduler):
    """A static plan with all tasks on the one worker that runs them in the least time."""

    name: ClassVar[str] = "fastest-node"
    algorithm = staticmethod(fastest_node)
