"""Lookahead HEFT, static plans in which a task considers its successors."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tasksim.schedulers.static.follower import StaticScheduler
from tasksim.schedulers.static.plan import Timetable
from tasksim.schedulers.static.ranked import by_rank, upward_ranks

if TYPE_CHECKING:
    from tasksim.schedulers.static.plan import Plan
    from tasksim.schedulers.static.problem import Problem

__all__ = ["Lookahead", "lookahead"]


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
    core: ClassVar[str] = "static"

    def make_plan(self, problem: Problem) -> Plan:
        """Return the plan of :func:`lookahead`."""
        return lookahead(problem)
