"""The ``static`` scheduler, which follows a plan from a file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tasksim.base.errors import InputError
from tasksim.schedulers.static.follower import StaticScheduler
from tasksim.schedulers.static.plan import Countdown, Timetable
from tasksim.schedulers.static.schedule_file import Schedule, match, read_schedule

if TYPE_CHECKING:
    import random

    from tasksim.schedulers.base import View
    from tasksim.schedulers.static.plan import Plan
    from tasksim.schedulers.static.problem import Problem

__all__ = ["PlanFromFile", "timed"]


class PlanFromFile(StaticScheduler):
    """A static plan from a CSV file with the columns task, worker and optionally order.

    Parameters
    ----------
    file : str
        The path of the file, as in ``--scheduler static:file=plan.csv``.
    order : {"strict", "ready"}
        See :class:`~tasksim.schedulers.static.follower.StaticScheduler`.
    """

    name: ClassVar[str] = "static"
    core: ClassVar[str] = "static"
    needs_estimates: ClassVar[bool] = False

    def __init__(self, file: str = "", order: str = "strict") -> None:
        super().__init__(order)
        if not file:
            raise InputError("scheduler static: no file given; legal: static:file=PLAN.csv")
        self.file = str(file)
        self._entries = read_schedule(self.file)

    def attach(self, view: View, rng: random.Random) -> None:
        """Match the schedule with the graph and the workers that *view* shows."""
        names = [worker.name for worker in view.workers]
        schedule = match(self._entries, self.file, view.graph, names)
        for worker, tasks in enumerate(schedule.lists):
            for task in tasks:
                if not view.can_run(task, worker):
                    raise schedule.rows[task].error(
                        f"worker '{names[worker]}' cannot run {view.graph.label(task)}"
                    )
        self._schedule = schedule
        super().attach(view, rng)

    def make_plan(self, problem: Problem) -> Plan:
        """Return the plan of the file for estimated durations."""
        return timed(problem, self._schedule)

    def make_lists(self) -> list[list[int]]:
        """Return the lists of the file."""
        return self._schedule.lists


def timed(problem: Problem, schedule: Schedule) -> Plan:
    """Return the plan of a *schedule*, with each task as early as its worker's list allows.

    An unknown duration counts as one second.

    Raises :exc:`InputError` if the lists and the dependencies form a cycle.
    """
    costs_s = np.where(np.isnan(problem.costs_s), 1.0, problem.costs_s)
    table = Timetable(replace(problem, costs_s=costs_s))
    countdown = Countdown(problem)
    ready = set(countdown.first)
    worker_of = {task: w for w, tasks in enumerate(schedule.lists) for task in tasks}
    turn, free = [0] * problem.workers, [0.0] * problem.workers
    memory = problem.memory_of.tolist()
    look = list(range(problem.workers))[::-1]
    while look:
        worker = look.pop()
        tasks = schedule.lists[worker]
        while turn[worker] < len(tasks) and tasks[turn[worker]] in ready:
            task = tasks[turn[worker]]
            turn[worker] += 1
            start = max(free[worker], table.arrivals(task)[memory[worker]])
            free[worker] = table.place(task, worker, start)
            for after in countdown.placed(task):
                ready.add(after)
                if worker_of[after] != worker:
                    look.append(worker_of[after])
    _refuse_circle(problem, schedule, turn)
    return table.plan()


def _refuse_circle(problem: Problem, schedule: Schedule, turn: list[int]) -> None:
    """Raise :exc:`InputError` if some list is not finished: its next task can never start."""
    stuck = [tasks[k:] for tasks, k in zip(schedule.lists, turn, strict=True) if k < len(tasks)]
    if not stuck:
        return
    left = {task for tasks in stuck for task in tasks}
    edges, row = problem.edges, schedule.rows
    for tasks in stuck:
        rows = edges.by_target[slice(*edges.target_ptr[tasks[0] : tasks[0] + 2])]
        before = next((s for s in edges.source[rows].tolist() if s in left), None)
        if before is not None:
            raise row[tasks[0]].error(
                f"task '{row[tasks[0]].fields[0]}' can never start: it depends on "
                f"'{row[before].fields[0]}' (line {row[before].line}), which comes after it in the "
                "order of the workers; legal: an order in which dependencies come first"
            )
