"""Min-min, max-min and duplex, static plans by the earliest possible ends of ready tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tasksim.base.errors import InputError
from tasksim.schedulers.static.compiled import compiled_plan
from tasksim.schedulers.static.follower import StaticScheduler
from tasksim.schedulers.static.plan import Timetable
from tasksim.schedulers.static.problem import memory_of_class

if TYPE_CHECKING:
    from numpy.typing import NDArray

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
    table = Timetable(problem)
    ready = _Ready(problem)
    waiting = np.diff(problem.edges.target_ptr).tolist()
    target: list[int] = problem.edges.target.tolist()
    bounds: list[int] = problem.edges.ptr.tolist()
    for task in np.flatnonzero(np.diff(problem.edges.target_ptr) == 0).tolist():
        ready.add(task, table.arrivals(task))
    later: list[int] = []
    while ready.count:
        task, worker, start = ready.take(longest=longest)
        ready.occupied(worker, table.place(task, worker, start))
        if task in problem.commuting:
            ready.delay(task, table)
        for after in target[bounds[task] : bounds[task + 1]]:
            waiting[after] -= 1
            if not waiting[after]:
                later.append(after)
        if not (rounds and ready.count):
            for after in later:
                ready.add(after, table.arrivals(after))
            later = []
    return table.plan()


class _Ready:
    """The ready tasks with their possible ends on each class of workers.

    Rows have no order, and the last row fills the place of a removed one. Only the earliest free
    worker of a class counts, because the workers of a class are identical.
    """

    def __init__(self, problem: Problem) -> None:
        self.count = 0
        self._problem = problem
        self._free = np.zeros(problem.workers)
        classes = problem.costs_s.shape[1]
        self._class_free = np.zeros(classes)
        self._class_memory = memory_of_class(problem)
        self._task = np.zeros(16, dtype=np.int64)
        self._arrival = np.zeros((16, classes))
        self._cost = np.zeros((16, classes))
        self._best = np.zeros(16)
        self._best_class = np.zeros(16, dtype=np.int64)

    def add(self, task: int, arrivals: list[float]) -> None:
        """Add *task*, whose data can be in each memory at the time in *arrivals*."""
        if self.count == len(self._task):
            self._task = np.concatenate((self._task, self._task))
            self._arrival = np.concatenate((self._arrival, self._arrival))
            self._cost = np.concatenate((self._cost, self._cost))
            self._best = np.concatenate((self._best, self._best))
            self._best_class = np.concatenate((self._best_class, self._best_class))
        row = self.count
        self.count += 1
        self._task[row] = task
        self._arrival[row] = np.array(arrivals)[self._class_memory]
        self._cost[row] = self._problem.costs_s[task]
        self._refresh(np.array([row]))

    def take(self, *, longest: bool) -> tuple[int, int, float]:
        """Remove the next task; return it, its worker and its start."""
        best = self._best[: self.count]
        rows = np.flatnonzero(best == (best.max() if longest else best.min()))
        row = int(rows[self._task[rows].argmin()])
        task = int(self._task[row])
        ready = self._arrival[row, self._problem.class_of]
        starts = np.maximum(self._free, ready)
        worker = int((starts + self._cost[row, self._problem.class_of]).argmin())
        start = float(starts[worker])
        self.count -= 1
        for column in (self._task, self._arrival, self._cost, self._best, self._best_class):
            column[row] = column[self.count]
        return task, worker, start

    def occupied(self, worker: int, until: float) -> None:
        """Note that *worker* is busy until the time *until*."""
        group = int(self._problem.class_of[worker])
        self._free[worker] = until
        free = float(self._free[self._problem.class_of == group].min())
        if free != self._class_free[group]:
            self._class_free[group] = free
            self._refresh(np.flatnonzero(self._best_class[: self.count] == group))

    def delay(self, task: int, table: Timetable) -> None:
        """Delay the ready tasks that commute with *task*, which has been placed."""
        handles = set(self._problem.commuting[task])
        for row, other in enumerate(self._task[: self.count].tolist()):
            if not handles.isdisjoint(self._problem.commuting.get(other, ())):
                self._arrival[row] = np.array(table.arrivals(other))[self._class_memory]
                self._refresh(np.array([row]))

    def _refresh(self, rows: NDArray[np.int64]) -> None:
        """Update the class on which each task in *rows* ends first."""
        ends = np.maximum(self._arrival[rows], self._class_free) + self._cost[rows]
        best_class = ends.argmin(axis=1)
        self._best_class[rows] = best_class
        self._best[rows] = ends[np.arange(len(rows)), best_class]


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
        if rounds not in (0, 1):
            raise InputError(f"scheduler {self.name}: rounds: got {rounds!r}; legal: 0 or 1")
        self.rounds = bool(rounds)


class MinMin(_Batch):
    """A static plan in which the ready task with the earliest possible end is next (min-min)."""

    name: ClassVar[str] = "min-min"
    core: ClassVar[str] = "static"

    def make_plan(self, problem: Problem) -> Plan:
        """Return the plan of :func:`min_min`."""
        return min_min(problem, rounds=self.rounds)


class MaxMin(_Batch):
    """A static plan in which the ready task with the latest earliest end is next (max-min)."""

    name: ClassVar[str] = "max-min"
    core: ClassVar[str] = "static"

    def make_plan(self, problem: Problem) -> Plan:
        """Return the plan of :func:`max_min`."""
        return max_min(problem, rounds=self.rounds)


class Duplex(_Batch):
    """The shorter one of the static plans of min-min and max-min (duplex)."""

    name: ClassVar[str] = "duplex"
    core: ClassVar[str] = "static"

    def make_plan(self, problem: Problem) -> Plan:
        """Return the plan of :func:`duplex`."""
        return duplex(problem, rounds=self.rounds)
