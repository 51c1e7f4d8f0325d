"""HEFT: heterogeneous earliest finish time."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tasksim.schedulers.static.follower import StaticScheduler
from tasksim.schedulers.static.ranks import by_rank, upward_ranks
from tasksim.schedulers.static.timeline import Timetable

if TYPE_CHECKING:
    from tasksim.schedulers.static.plan import Plan
    from tasksim.schedulers.static.problem import Problem

__all__ = ["Heft", "heft"]


def heft(problem: Problem) -> Plan:
    """Return the plan of HEFT.

    Tasks are placed by falling upward rank. Each goes to the worker where it ends first, in a gap
    if one is long enough. H. Topcuoglu, S. Hariri, M.-Y. Wu, "Performance-effective and
    low-complexity task scheduling for heterogeneous computing", IEEE Transactions on Parallel and
    Distributed Systems 13(3), 2002, section 5.1.
    """
    table = Timetable(problem)
    for task in by_rank(upward_ranks(problem)):
        table.place_earliest(task)
    return table.plan()


class Heft(StaticScheduler):
    """A static plan: tasks by upward rank, each where it ends first, gaps included (HEFT)."""

    name: ClassVar[str] = "heft"
    core: ClassVar[str] = "static"

    def make_plan(self, problem: Problem) -> Plan:
        """Return the plan of :func:`heft`."""
        return heft(problem)
