"""Costs of the runtime in a recorded run: what passed, in the mean, where no task had to wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.platform.costs import Overheads
from tasksim.run.account import Walk
from tasksim.run.disturbance import LONGEST_OWN_GAP_S

if TYPE_CHECKING:
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run

__all__ = ["runtime_costs"]

LEAST_WAKES: Final = 30
"""Tasks that a waiting worker began: the mean of fewer says nothing, as one of them may have met a
worker that the system had put aside. Then they count with all others."""


def runtime_costs(run: Run, graph: TaskGraph, *, alone: bool = False) -> Overheads:
    """Return what the runtime took in *run*, of *graph*, by kind, in the mean.

    From when a task could have begun, as its worker was free and all that it depends on was done,
    until it did; and how much more that was where the worker had waited. Means add up to what
    passed in all, where medians leave out what is seldom and long. From one submission to the next
    it is the median, as between some of them the program does other things, or waits. With *alone*,
    times in which others had the core are left out.

    Examples
    --------
    >>> import tasksim
    >>> graph = tasksim.generate("chain", length=3, duration=1.0)
    >>> runtime_costs(tasksim.simulate(graph, workers=1), graph).task_s
    0.0
    """
    if not len(run):
        return Overheads()
    walk = Walk(run, graph)
    submitted = walk.column(run.tasks.submitted_s)
    delay, busy = walk.delays(submitted)
    if alone:
        own = delay <= LONGEST_OWN_GAP_S
        delay, busy = delay[own], busy[own]
        if not own.any():
            return Overheads()
    gaps = np.diff(np.sort(submitted))
    submission_s = float(np.median(gaps)) if len(gaps) else 0.0
    if len(busy) - int(busy.sum()) < LEAST_WAKES:
        return Overheads(submission_s=submission_s, task_s=float(delay.mean()))
    woken_s = float(np.median(delay[~busy]))
    task_s = max(0.0, (float(delay.sum()) - woken_s * int((~busy).sum())) / len(busy))
    return Overheads(submission_s=submission_s, task_s=task_s, wakeup_s=max(0.0, woken_s - task_s))
