"""Min-min, max-min and duplex, static plans by the earliest possible ends of ready tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tasksim.base.arguments import switch
from tasksim.schedulers.base import option_of
from tasksim.schedulers.static.compiled import compiled_plan
from tasksim.schedulers.static.follower import StaticScheduler
from tasksim.schedulers.static.plan import Frontier

if TYPE_CHECKING:
    from tasksim.schedulers.static.plan import Plan
    from tasksim.schedulers.static.problem import Problem

__all__ = ["Duplex", "MaxMin", "MinMin", "duplex", "max_min", "min_min"]


def min_min(problem: Problem, *, rounds: bool = False) -> Plan:
    """Return the plan of min-min.

    The next task is the one with the earliest possible end among the tasks whose predecessors are
    placed. It goes to the worker of that end, after the tasks placed there. A tie goes to the task,
    then the worker, of lowest number. Sources: O. H. Ibarra, C. E. Kim, "Heuristic algorithms for
    scheduling independent tasks on nonidentical processors", Journal of the ACM 24(2), 1977,
    algorithm D; T. D. Braun et al., Journal of Parallel and Distributed Computing 61(6), 2001,
    section 3; for task graphs, J. Blythe et al., CCGrid 2005.

    Parameters
    ----------
    problem : Problem
        The problem to plan.
    rounds : bool, default False
        Whether tasks that become ready wait until all that were ready before them are placed; the
        papers leave it open.
    """
    return _batch(problem, longest=False, rounds=rounds)


def max_min(problem: Problem, *, rounds: bool = False) -> Plan:
    """Return the plan of max-min: :func:`min_min`, with the task of the latest end next.

    This is Ibarra and Kim's algorithm E. Each task still goes to the worker where it ends first.
    """
    return _batch(problem, longest=True, rounds=rounds)


def duplex(problem: Problem, *, rounds: bool = False) -> Plan:
    """Return the plan of duplex: the shorter one of min-min and max-min, min-min's if equal.

    T. D. Braun et al., Journal of Parallel and Distributed Computing 61(6), 2001, section 3.
    """
    both = min_min(problem, rounds=rounds), max_min(problem, rounds=rounds)
    return min(both, key=lambda plan: plan.makespan_s)


def _batch(problem: Problem, *, longest: bool, rounds: bool) -> Plan:
    name = "max-min" if longest else "min-min"
    if (made := compiled_plan(problem, name, rounds)) is not None:
        return made
    ready = Frontier(problem, by_class=True)
    in_round = np.zeros(problem.tasks, dtype=bool)
    while ready:
        tasks = ready.tasks
        end = (ready.starts() + ready.costs).min(axis=1)
        key = -end if longest else end
        if rounds:
            if not in_round[tasks].any():
                in_round[tasks] = True
            key = np.where(in_round[tasks], key, np.inf)
        ready.place_earliest(int(tasks[key == key.min()].min()))
    return ready.table.plan()


class _Batch(StaticScheduler):
    """A static scheduler with the option *rounds*.

    Parameters
    ----------
    order : {"strict", "ready"}
        As for all static schedulers.
    rounds : {0, 1}
        Whether tasks that become ready wait until all that were ready before them are placed.
    """

    def __init__(self, order: str = "strict", rounds: int = 0) -> None:
        super().__init__(order)
        self._options = {"rounds": switch(rounds, option_of(self, "rounds"))}


class MinMin(_Batch):
    """A static plan in which the ready task with the earliest possible end is next (min-min)."""

    name: ClassVar[str] = "min-min"
    algorithm = staticmethod(min_min)


class MaxMin(_Batch):
    """A static plan in which the ready task with the latest earliest end is next (max-min)."""

    name: ClassVar[str] = "max-min"
    algorithm = staticmethod(max_min)


class Duplex(_Batch):
    """The shorter one of the static plans of min-min and max-min (duplex)."""

    name: ClassVar[str] = "duplex"
    algorithm = staticmethod(duplex)
