"""HeteroPrio of the theory: ready tasks by acceleration, idle workers take over running ones."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from math import inf
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tasksim.base.arguments import switch
from tasksim.schedulers.base import option_of
from tasksim.schedulers.static.follower import StaticScheduler
from tasksim.schedulers.static.plan import Countdown, Timetable
from tasksim.schedulers.static.ranked import upward_ranks

if TYPE_CHECKING:
    from tasksim.base.arrays import Floats
    from tasksim.schedulers.static.plan import Plan
    from tasksim.schedulers.static.problem import Problem

__all__ = ["HeteroprioStatic", "heteroprio_static"]


def heteroprio_static(problem: Problem, *, spoliation: bool = True) -> Plan:
    """Return the plan of HeteroPrio, as its approximation is proven.

    The plan is made along its own clock. An idle worker takes the ready task on which its
    architecture is fastest relative to the others: the acceleration factor, for CPUs the least one.
    Of equal factors, the higher upward rank comes first. If no task is ready for it, the worker
    takes a running one over, from its beginning (spoliation): of the tasks that run on other
    architectures, the one that ends last of those that it would end earlier. With independent
    tasks on m CPUs and n GPUs, the makespan is at most 2 + sqrt(2) times the optimum, 1 + phi
    times with one GPU, and phi times with one of each; phi is the golden ratio.

    O. Beaumont, L. Eyraud-Dubois, S. Kumar, "Approximation proofs of a fast and efficient list
    scheduling algorithm for task-based runtime systems on multicores and GPUs", IPDPS 2017. The
    paper has two architectures; here each competes with the fastest other one. The paper has no
    copies; here a task starts when its data can be there. Architectures are told apart by
    durations alone.

    Parameters
    ----------
    problem : Problem
        The problem to plan.
    spoliation : bool, default True
        Whether idle workers take over running tasks.
    """
    run = _Run(problem, spoliation=spoliation)
    while run.goes_on():
        pass
    return run.table.plan()


class _Run:
    """A run of HeteroPrio: who is idle, what is ready, what runs until when."""

    def __init__(self, problem: Problem, *, spoliation: bool) -> None:
        self.table = Timetable(problem)
        self._commuting = problem.commuting
        self._spoliation = spoliation
        kinds, kind_of_class = np.unique(problem.costs_s, axis=1, return_inverse=True)
        self._costs: list[list[float]] = kinds.T.tolist()
        self._kind: list[int] = kind_of_class.ravel()[problem.class_of].tolist()
        self._memory: list[int] = problem.memory_of.tolist()
        rank = upward_ranks(problem)
        factors = _accelerations(kinds)
        self._keys = [
            list(zip((-column).tolist(), (-rank).tolist(), range(problem.tasks), strict=True))
            for column in factors.T
        ]
        self._countdown = Countdown(problem)
        self._ready: list[list[tuple[float, float, int]]] = [[] for _ in self._costs]
        self._taken = [False] * problem.tasks
        self._idle = list(range(problem.workers))
        self._now_s = 0.0
        self._running: dict[int, tuple[float, int, float]] = {}
        """Per busy worker: the end of its task, the task, its start."""
        self._held: set[int] = set()
        """The data of running tasks that commute on them."""
        for task in self._countdown.first:
            self._release(task)

    def goes_on(self) -> bool:
        """Occupy the idle workers, and go on to the next end of a task; False if all have ended."""
        waiting: list[int] = []
        while self._idle:
            worker = heappop(self._idle)
            task = self._next(worker)
            if task is None and self._spoliation:
                task = self._spoliated(worker)
            if task is None:
                waiting.append(worker)
            else:
                self._start(task, worker)
        self._idle = waiting
        heapify(self._idle)
        if not self._running:
            return False
        self._now_s = min(end for end, _, _ in self._running.values())
        for worker in [w for w, (end, _, _) in self._running.items() if end == self._now_s]:
            self._end(worker)
        return True

    def _release(self, task: int) -> None:
        for kind, costs in enumerate(self._costs):
            if costs[task] < inf:
                heappush(self._ready[kind], self._keys[kind][task])

    def _next(self, worker: int) -> int | None:
        """Return the first ready task of *worker* that may run beside those that run."""
        ready = self._ready[self._kind[worker]]
        skipped = []
        found = None
        while ready and found is None:
            key = heappop(ready)
            if self._taken[key[2]]:
                continue
            if self._held.isdisjoint(self._commuting.get(key[2], ())):
                found = key[2]
            else:
                skipped.append(key)
        for key in skipped:
            heappush(ready, key)
        return found

    def _spoliated(self, worker: int) -> int | None:
        """Return a running task that *worker* ends earlier, taken from its worker; or None."""
        kind = self._kind[worker]
        by_end = sorted(self._running.items(), key=lambda each: (-each[1][0], each[1][1]))
        for victim, (end, task, _) in by_end:
            if self._kind[victim] != kind and self._ends(task, worker)[1] < end:
                del self._running[victim]
                heappush(self._idle, victim)
                return task
        return None

    def _ends(self, task: int, worker: int) -> tuple[float, float]:
        """Return start and end of *task* if *worker* takes it now."""
        arrival = self.table.arrivals(task)[self._memory[worker]]
        start = max(self._now_s, arrival)
        return start, start + self._costs[self._kind[worker]][task]

    def _start(self, task: int, worker: int) -> None:
        start, end = self._ends(task, worker)
        self._taken[task] = True
        self._running[worker] = (end, task, start)
        self._held.update(self._commuting.get(task, ()))

    def _end(self, worker: int) -> None:
        _, task, start = self._running.pop(worker)
        self.table.place(task, worker, start)
        heappush(self._idle, worker)
        self._held.difference_update(self._commuting.get(task, ()))
        for after in self._countdown.placed(task):
            self._release(after)


def _accelerations(costs: Floats) -> Floats:
    """Return, per task and architecture, the time of the fastest other one relative to its own."""
    found = np.full(costs.shape, np.inf)
    for kind in range(costs.shape[1]):
        others = np.delete(costs, kind, axis=1).min(axis=1, initial=np.inf)
        own = costs[:, kind]
        known = (own > 0.0) & np.isfinite(own)
        found[known, kind] = others[known] / own[known]
        found[(own == 0.0) & (others == 0.0), kind] = 1.0
    return found


class HeteroprioStatic(StaticScheduler):
    """A static plan by acceleration in which idle workers take over running tasks (HeteroPrio).

    Parameters
    ----------
    order : {"strict", "ready"}
        As for all static schedulers.
    spoliation : {0, 1}
        Whether idle workers take over running tasks.
    """

    name: ClassVar[str] = "heteroprio-static"
    algorithm = staticmethod(heteroprio_static)

    def __init__(self, order: str = "strict", spoliation: int = 1) -> None:
        super().__init__(order)
        self._options = {"spoliation": switch(spoliation, option_of(self, "spoliation"))}
