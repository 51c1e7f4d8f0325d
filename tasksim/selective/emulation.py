"""Selective runs of tasks that take drawn durations instead of being executed.

An emulated run is a selective run on a platform that is not here, or of a graph whose kernels do
not execute. It has the account, the statistics and the policies of a real one; a task that would be
executed takes a duration drawn from its model. What the run would take for real is known, too: the
longest path through its schedule on which only executed tasks take time.
"""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tasksim.native.execute import refuse_other_than_threads
from tasksim.platform.description import class_of
from tasksim.run.schedulepath import schedule_path
from tasksim.runtime.pathrecords import PathRecords
from tasksim.runtime.view import Facts
from tasksim.schedulers.registry import create
from tasksim.selective.execute import Selective, selective_run
from tasksim.selective.execution import SelectiveExecution
from tasksim.selective.policies import Chooser, Rules, checked_policy, policy_of
from tasksim.selective.statistics import Statistics, signatures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.base.arrays import Floats
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform
    from tasksim.selective.charges import Charge
    from tasksim.selective.policies import SamplingOrder

__all__ = ["emulate_fully", "emulate_selectively"]


def emulate_selectively(
    graph: TaskGraph,
    platform: Platform,
    scheduler: str,
    seconds: Floats,
    *,
    policy: str = "online",
    tolerance: float = 0.05,
    statistics: Statistics | None = None,
    sampling: SamplingOrder = "spread",
    charge: Charge = "drawn",
    estimates: Sequence[Sequence[float]] | None = None,
    seed: int = 0,
) -> Selective:
    """Return a selective run whose executed tasks take *seconds*.

    Parameters
    ----------
    graph, platform, scheduler
        Tasks, workers, and the name of the policy that chooses among tasks.
    seconds : ndarray, shape (classes, tasks)
        Duration of each task in each class of workers, should it be executed.
    policy, tolerance, statistics, sampling, charge
        As in :func:`tasksim.selective.execute.execute_selectively`.
    estimates : sequence of sequences of float, optional
        Durations that the scheduler believes; by default *seconds*.
    seed : int, default 0
        For the scheduler's random choices, and drawn charges.

    Raises
    ------
    InputError
        If the tolerance is out of range, the policy is unknown, or a worker is a device.
    """
    chosen = checked_policy(policy, tolerance, sampling, charge)
    known = Statistics() if statistics is None else statistics
    run = partial(_emulated, graph, platform, scheduler, seconds, estimates, seed)
    signed = (*signatures(graph, apart=sampling == "apart"), len(platform.workers))
    profile: Sequence[int] = ()
    before_s = 0.0
    if chosen.counts == "profile":  # of a run in which all tasks are executed
        first = run(Rules(chosen, Statistics(), 0.0, *signed))
        profile, before_s = first.path.counts, first.wall_s
    made = run(Rules(chosen, known, tolerance, *signed, profile, sampling, charge, seed))
    return replace(made, wall_s=before_s + made.wall_s)


def emulate_fully(
    graph: TaskGraph,
    platform: Platform,
    scheduler: str,
    seconds: Floats,
    *,
    estimates: Sequence[Sequence[float]] | None = None,
    seed: int = 0,
) -> Selective:
    """Return a run in which all tasks are executed; as :func:`emulate_selectively`."""
    signed = (*signatures(graph), len(platform.workers))
    rules = Rules(policy_of("conditional"), Statistics(), 0.0, *signed)  # nothing is known
    return _emulated(graph, platform, scheduler, seconds, estimates, seed, rules)


class _DrawnTasks:
    """Tasks that take prescribed durations on the account, and none to execute."""

    def __init__(self, seconds: Sequence[Sequence[float]], class_of: Sequence[int]) -> None:
        self._seconds, self._class_of = seconds, class_of
        self._taken_s = [0.0] * len(class_of)
        self.executed: list[int] = []

    def expect(self, worker: int) -> None:
        """Note that a task of *worker* is about to be executed."""
        self._taken_s[worker] = 0.0

    def elapsed_s(self, worker: int) -> float:
        """Return the duration of the task of *worker*; 0 before it is executed."""
        return self._taken_s[worker]

    def run(self, task: int, worker: int, *, safe: bool) -> None:  # noqa: ARG002 - no data
        """Note that *task* is executed."""
        self.executed.append(task)
        self._taken_s[worker] = self._seconds[self._class_of[worker]][task]


def _emulated(
    graph: TaskGraph,
    platform: Platform,
    scheduler: str,
    seconds: Floats,
    estimates: Sequence[Sequence[float]] | None,
    seed: int,
    rules: Rules,
) -> Selective:
    """Return one emulated run; its wall time is what it would take for real."""
    refuse_other_than_threads(platform)
    taken = seconds.tolist()
    believed = taken if estimates is None else estimates
    facts = Facts.on_any_worker(graph, platform, create(scheduler), believed)
    tasks = _DrawnTasks(taken, class_of(platform))
    paths = PathRecords(rules.of_task, len(platform.workers))
    # Company would take no time here, either.
    execution = SelectiveExecution(facts, tasks, Chooser(rules), paths, company=False)
    execution.run_at_once(random.Random(seed))
    run = selective_run(graph, platform, scheduler, seed, tasks=execution.table(), engine="python")
    taken_s = np.zeros(len(graph))
    taken_s[tasks.executed] = run.tasks.duration_s[tasks.executed]
    wall_s = schedule_path(run, graph, taken_s).cost
    return Selective(run, execution.effort, wall_s, paths.longest)
