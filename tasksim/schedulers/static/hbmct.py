"""HBMCT, static plans of groups of independent tasks that are balanced."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tasksim.base.arguments import one_of
from tasksim.schedulers.base import option_of
from tasksim.schedulers.static.follower import StaticScheduler
from tasksim.schedulers.static.plan import Timetable
from tasksim.schedulers.static.ranked import by_rank, upward_ranks

if TYPE_CHECKING:
    from tasksim.base.arrays import Ints
    from tasksim.schedulers.static.plan import Plan
    from tasksim.schedulers.static.problem import Problem

__all__ = ["Hbmct", "hbmct"]

FIRST_WORKERS = ("execution", "completion")
"""First workers of the tasks of a group: of the least duration, or of the earliest end alone."""


def hbmct(problem: Problem, *, begin: str = "execution") -> Plan:
    """Return the plan of HBMCT, the hybrid heuristic with balanced minimum completion times.

    Tasks in the order of HEFT's ranks are cut into groups in which none depends on another. In a
    group, each task goes to a first worker. Then tasks leave the worker that ends last for the
    worker that ends first with them, as long as both workers end before that time; tasks whose data
    arrive first are tried first. The tasks of a worker run in the order in which their data arrive.
    R. Sakellariou, H. Zhao, "A hybrid heuristic for DAG scheduling on heterogeneous systems", IPDPS
    2004, section 3.

    Parameters
    ----------
    problem : Problem
        The problem to plan.
    begin : {"execution", "completion"}
        The first worker: the one of the least duration, or the one where the task, if it were
        alone, ends first.
    """
    table = Timetable(problem)
    for group in _groups(problem, by_rank(upward_ranks(problem))):
        for worker, tasks in enumerate(_Balance(table, group, begin).lists()):
            for task in tasks:
                table.place(task, worker, table.starts_after_all(task)[worker])
    return table.plan()


def _groups(problem: Problem, order: list[int]) -> list[list[int]]:
    """Return *order* cut before each task that depends on one of the tasks since the last cut."""
    edges = problem.edges
    groups: list[list[int]] = []
    here: set[int] = set()
    for task in order:
        rows = edges.by_target[edges.target_ptr[task] : edges.target_ptr[task + 1]]
        shared = task in problem.commuting  # tasks that commute exclude each other
        if not groups or shared or not here.isdisjoint(edges.source[rows].tolist()):
            groups.append([])
            here = set()
        groups[-1].append(task)
        here.add(task)
        if shared:
            here.update(range(problem.tasks))
    return groups


class _Balance:
    """The assignment of a group's tasks to workers, improved until no task can move."""

    def __init__(self, table: Timetable, group: list[int], begin: str) -> None:
        problem = table.problem
        self._tasks = group
        self._free = table.free.copy()
        self._arrival = np.array([table.arrivals(task) for task in group])[:, problem.memory_of]
        self._cost = problem.costs_s[group][:, problem.class_of]
        ends = np.maximum(self._arrival, self._free) + self._cost
        self._worker: Ints = (self._cost if begin == "execution" else ends).argmin(axis=1)
        while self._moved():
            pass

    def lists(self) -> list[list[int]]:
        """Return, per worker, its tasks in order."""
        return [
            [self._tasks[row] for row in self._rows(worker)] for worker in range(len(self._free))
        ]

    def _rows(self, worker: int) -> list[int]:
        """Return the tasks of *worker*, by arrival of their data."""
        rows = np.flatnonzero(self._worker == worker)
        return sorted(rows.tolist(), key=lambda row: (self._arrival[row, worker], row))

    def _end(self, worker: int) -> float:
        end = float(self._free[worker])
        for row in self._rows(worker):
            end = max(end, float(self._arrival[row, worker])) + float(self._cost[row, worker])
        return end

    def _moved(self) -> bool:
        """Move a task of the worker that ends last; return whether that was possible."""
        ends = [self._end(worker) for worker in range(len(self._free))]
        last = ends.index(max(ends))
        rows = np.flatnonzero(self._worker == last).tolist()
        for row in sorted(rows, key=lambda row: (self._arrival[row].mean(), row)):
            best, chosen = ends[last], last
            for worker in np.flatnonzero(np.isfinite(self._cost[row])).tolist():
                if worker != last:
                    self._worker[row] = worker
                    end = self._end(worker)
                    if end < best:
                        best, chosen = end, worker
            self._worker[row] = chosen
            if chosen != last and self._end(last) < ends[last]:
                return True
            self._worker[row] = last
        return False


class Hbmct(StaticScheduler):
    """A static plan of independent groups in the order of HEFT's ranks, each balanced (HBMCT).

    Parameters
    ----------
    order : {"strict", "ready"}
        As for all static schedulers.
    begin : {"execution", "completion"}
        The first worker of each task: of the least duration, or of the earliest end.
    """

    name: ClassVar[str] = "hbmct"
    algorithm = staticmethod(hbmct)

    def __init__(self, order: str = "strict", begin: str = "execution") -> None:
        super().__init__(order)
        self._options = {"begin": one_of(begin, FIRST_WORKERS, option_of(self, "begin"))}
