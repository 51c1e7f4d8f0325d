"""Costs of the runtime in a recorded run: mean delays where no task had to wait."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.platform.costs import Overheads
from tasksim.run.account import Walk
from tasksim.run.disturbance import MAX_OWN_GAP_S

if TYPE_CHECKING:
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run

__all__ = ["runtime_costs"]

MIN_WAKEUPS: Final = 30
"""Smallest number of tasks started by waiting workers for a mean of their own: one worker that the
system had put aside would dominate fewer. Otherwise they count with all others."""


def runtime_costs(run: Run, graph: TaskGraph, *, alone: bool = False) -> Overheads:
    """Return the mean costs of the runtime in *run*, a run of *graph*, by kind.

    A task's delay is the time from when it could start, with its worker free and its dependencies
    done, until it started; a wake-up is the additional delay if the worker had waited. Means,
    unlike medians, add up to the total, with rare long delays. Submissions use the median, as the
    program may do other things or wait between some of them. With *alone*, delays in which others
    had the core are left out.

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
        own = delay <= MAX_OWN_GAP_S
        delay, busy = delay[own], busy[own]
        if not own.any():
            return Overheads()
    gaps = np.diff(np.sort(submitted))
    submission_s = float(np.median(gaps)) if len(gaps) else 0.0
    if len(busy) - int(busy.sum()) < MIN_WAKEUPS:
        return Overheads(submission_s=submission_s, task_s=float(delay.mean()))
    woken_s = float(np.median(delay[~busy]))
    task_s = max(0.0, (float(delay.sum()) - woken_s * int((~busy).sum())) / len(busy))
    return Overheads(submission_s=submission_s, task_s=task_s, wakeup_s=max(0.0, woken_s - task_s))
