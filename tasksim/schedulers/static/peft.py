"""PEFT: predict earliest finish time."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tasksim.schedulers.static.cpop import ready_order
from tasksim.schedulers.static.follower import StaticScheduler
from tasksim.schedulers.static.ranks import by_rank, optimistic_costs
from tasksim.schedulers.static.timeline import Timetable

if TYPE_CHECKING:
    from tasksim.schedulers.static.plan import Plan
    from tasksim.schedulers.static.problem import Problem

__all__ = ["Peft", "peft"]


def peft(problem: Problem) -> Plan:
    """Return the plan of PEFT.

    Among the tasks whose predecessors are placed, the one with the highest mean over the workers in
    the optimistic cost table comes first. It goes to the worker with the least sum of its end and
    its entry in the table, in a gap if one is long enough. H. Arabnejad, J. G. Barbosa, "List
    scheduling algorithm for heterogeneous systems by an optimistic cost table", IEEE Transactions
    on Parallel and Distributed Systems 25(3), 2014, section 4.
    """
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
    """A static plan: each task where it and its successors can end first (PEFT)."""

    name: ClassVar[str] = "peft"
    core: ClassVar[str] = "static"

    def make_plan(self, problem: Problem) -> Plan:
        """Return the plan of :func:`peft`."""
        return peft(problem)
