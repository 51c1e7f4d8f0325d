"""FCP and FLB, static plans that look at two workers per task."""

from __future__ import annotations

from collections import deque
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, Final

from tasksim.base.arguments import whole_number
from tasksim.schedulers.base import option_of
from tasksim.schedulers.static.compiled import compiled_plan
from tasksim.schedulers.static.follower import StaticScheduler
from tasksim.schedulers.static.plan import Frontier, Timetable
from tasksim.schedulers.static.ranked import by_rank, upward_ranks

if TYPE_CHECKING:
    from tasksim.schedulers.static.plan import Plan
    from tasksim.schedulers.static.problem import Problem

__all__ = ["Fcp", "Flb", "fcp", "flb"]

MAX_QUEUE: Final = 2**31 - 1
"""Largest size of FCP's queue of urgent tasks."""


class _Messages:
    """The last messages that tasks wait for, at the mean time of communication."""

    def __init__(self, table: Timetable) -> None:
        problem = table.problem
        self._table = table
        self._sent: list[float] = problem.mean_communication_s(apart=True).tolist()
        self._rows: list[int] = problem.edges.by_target.tolist()
        self._bounds = list(pairwise(problem.edges.target_ptr.tolist()))
        self._source: list[int] = problem.edges.source.tolist()

    def last(self, task: int) -> tuple[float, int]:
        """Return when the last message comes, and the worker from which; -1 if there is none."""
        begin, end = self._bounds[task]
        found = 0.0, -1
        for row in self._rows[begin:end]:
            source = self._source[row]
            arrival = self._table.end(source) + self._sent[row]
            if arrival > found[0] or found[1] < 0:
                found = arrival, self._table.worker(source)
        return found


def fcp(problem: Problem, *, queue: int = 0) -> Plan:
    """Return the plan of FCP, fast critical path.

    Only some ready tasks are ordered by bottom level; others wait in arrival order until one of
    these is placed. The most urgent task goes to the worker that is free first, or to the one from
    which its last message comes, wherever it starts first; a tie goes to the free one.
    A. Radulescu, A. J. C. van Gemund, "On the complexity of list scheduling algorithms for
    distributed-memory systems", ICS 1999. The paper's workers are alike; here, as there, nothing is
    asked about durations but that a worker can run the task.

    Parameters
    ----------
    problem : Problem
        The problem to plan.
    queue : int, default 0
        How many ready tasks are ordered; 0 for the number of workers, as in the paper.
    """
    if (made := compiled_plan(problem, "fcp", queue)) is not None:
        return made
    place = {task: at for at, task in enumerate(by_rank(upward_ranks(problem)))}
    size = queue or problem.workers
    ready = Frontier(problem)
    table, messages = ready.table, _Messages(ready.table)
    urgent: list[int] = []
    waiting: deque[int] = deque()
    known: set[int] = set()
    while ready:
        for task in sorted(set(ready.tasks.tolist()) - known):
            known.add(task)
            waiting.append(task)
        while waiting and len(urgent) < size:
            urgent.append(waiting.popleft())
        task = min(urgent, key=place.__getitem__)
        urgent.remove(task)
        starts = table.starts_after_all(task)
        free, enabling = _free_first(table, starts), messages.last(task)[1]
        is_free_sooner = enabling < 0 or starts[free] <= starts[enabling]
        ready.place(task, free if is_free_sooner else enabling)
    return table.plan()


def _free_first(table: Timetable, starts: list[float]) -> int:
    """Return the worker that is free first among those with finite *starts*."""
    able = [worker for worker, start in enumerate(starts) if start < float("inf")]
    return min(able, key=table.free.tolist().__getitem__)


def flb(problem: Problem) -> Plan:
    """Return the plan of FLB, fast load balancing.

    A ready task is *tied* to the worker from which its last message comes, while this worker is
    busy until no later than the message arrives elsewhere. At each step, two are compared: the tied
    task that starts first on its worker; and the other task whose last message comes first, on the
    worker that is free first. The one that starts first is placed, the latter if both start at
    once, as its messages are there already. A tie goes to the higher bottom level. A. Radulescu,
    A. J. C. van Gemund, "FLB: fast load balancing for distributed-memory machines", ICPP 1999.
    """
    if (made := compiled_plan(problem, "flb")) is not None:
        return made
    levels: list[float] = upward_ranks(problem).tolist()
    ready = Frontier(problem)
    table, messages = ready.table, _Messages(ready.table)
    last: dict[int, tuple[float, int]] = {}
    while ready:
        tied: list[tuple[float, float, int, int]] = []
        others: list[tuple[float, float, int]] = []
        for task in ready.tasks.tolist():
            if task not in last:
                last[task] = messages.last(task)
            arrival, worker = last[task]
            start = table.starts_after_all(task)[worker] if worker >= 0 else float("inf")
            if start < float("inf") and arrival >= table.free[worker]:
                tied.append((start, -levels[task], task, worker))
            else:
                others.append((arrival, -levels[task], task))
        choices: list[tuple[float, int, int, int]] = []
        if others:
            _, _, task = min(others)
            starts = table.starts_after_all(task)
            worker = _free_first(table, starts)
            choices.append((starts[worker], 0, task, worker))
        if tied:
            start, _, task, worker = min(tied)
            choices.append((start, 1, task, worker))
        _, _, task, worker = min(choices)
        ready.place(task, worker)
    return table.plan()


class Fcp(StaticScheduler):
    """A static plan by bottom level, each task on one of two workers (FCP).

    Parameters
    ----------
    order : {"strict", "ready"}
        As for all static schedulers.
    queue : int, default 0
        How many ready tasks are ordered by bottom level; 0 for the number of workers.
    """

    name: ClassVar[str] = "fcp"
    algorithm = staticmethod(fcp)

    def __init__(self, order: str = "strict", queue: int = 0) -> None:
        super().__init__(order)
        self._options = {"queue": whole_number(queue, option_of(self, "queue"), 0, MAX_QUEUE)}


class Flb(StaticScheduler):
    """A static plan of what starts first: a task at its last message's source, or another (FLB)."""

    name: ClassVar[str] = "flb"
    algorithm = staticmethod(flb)
