"""Fit of the runtime's overheads to native runs.

An overhead is a mean over the gaps with the same cause, so that a simulation loses the same total
time between tasks as a run. Under both runtimes, the time between two tasks grows with the number
of tasks that the first one released, as each is pushed before the worker asks again. It does not
depend on the second task's data, whose addresses are computed before the run.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import sqrt
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.platform.description import Overheads
from tasksim.run.disturbance import MAX_OWN_GAP_S

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from tasksim.base.arrays import Floats
    from tasksim.run.record import Run


__all__ = ["Gaps", "gaps", "measured_overheads"]

GAP_QUANTILE: Final = 0.95
"""Share of the gaps, the shortest ones, that give the cost of a release. In the others the system
keeps a thread off its core a thousand times as long, whatever was released."""
MIN_GAPS: Final = 30
"""Smallest number of gaps for a fit: with as many, the error of a slope is nearly normal."""
MIN_STANDARD_ERRORS: Final = 3.0
"""Number of standard errors by which a slope must exceed zero: chance does so in one of 700 cases.
"""
MIN_RELEASE_SHARE: Final = 0.1
"""Smallest share of the mean gap due to releases at which they get a cost of their own: a
simulation without it is simpler."""


@dataclass(frozen=True)
class Gaps:
    """Times between kernels of a run, in seconds, by cause."""

    task: Floats
    """From a task's end to the next start on the same worker, which was awake all the time."""
    task_releases: Floats
    """Number of tasks that the first task released, per such gap."""
    wakeup: Floats
    """From the end that released a task to its start on a sleeping worker."""
    wakeup_releases: Floats
    """Number of tasks released there up to this one, per such gap."""
    submission: Floats
    """Between the submissions of consecutive tasks."""


def gaps(run: Run) -> Gaps:
    """Return the gaps between kernels in *run*.

    If the system reports time that others took, gaps in which they had the core are left out.
    """
    tasks = run.tasks
    order = np.lexsort((tasks.start_s, tasks.worker))
    follows = np.flatnonzero(np.diff(tasks.worker[order]) == 0)
    before, after = order[follows], order[follows + 1]
    previous_end = tasks.end_s[before]
    own = tasks.released_by[after] == before
    awake = own | (tasks.ready_s[after] <= previous_end)
    released = tasks.released_by[after]
    woken = ~awake & (released >= 0)
    by, count = tasks.released_by, len(run)
    task_s = tasks.start_s[after][awake] - previous_end[awake]
    wakeup_s = tasks.start_s[after][woken] - tasks.end_s[released[woken]]
    submission_s = np.diff(tasks.submitted_s)
    limit_s = np.inf if run.disturbance is None else MAX_OWN_GAP_S
    task, wakeup = task_s <= limit_s, wakeup_s <= limit_s
    return Gaps(
        task=task_s[task],
        task_releases=np.bincount(by[by >= 0], minlength=count)[before[awake]][task].astype(float),
        wakeup=wakeup_s[wakeup],
        wakeup_releases=_places(by, tasks.ready_s)[after[woken]][wakeup],
        submission=submission_s[submission_s <= limit_s],
    )


def _places(released_by: NDArray[np.int32], ready_s: Floats) -> Floats:
    """Return the position of each task among those that the same task released: 1, 2, ..."""
    order = np.lexsort((ready_s, released_by))
    first = np.flatnonzero(np.diff(released_by[order], prepend=-2))
    places = np.arange(len(order)) - np.repeat(first, np.diff(first, append=len(order)))
    found = np.empty(len(order))
    found[order] = places + 1
    return found


def measured_overheads(runs: Iterable[Gaps]) -> Overheads:
    """Return the overheads of the runtime: means over all *runs*.

    The cost of a release is separated if the gaps show it; the rest of the mean is the task's own.
    """
    every = list(runs)
    if not every:
        return Overheads()
    together = Gaps(
        **{f.name: np.concatenate([getattr(part, f.name) for part in every]) for f in fields(Gaps)}
    )
    push_s = _per_release(together.task, together.task_releases)
    task_s = max(0.0, _mean(together.task - push_s * together.task_releases))
    woken_s = _mean(together.wakeup - push_s * together.wakeup_releases)
    return Overheads(
        submission_s=_mean(together.submission),
        task_s=task_s,
        wakeup_s=max(0.0, woken_s - task_s),
        push_s=push_s,
    )


def _per_release(task: Floats, releases: Floats) -> float:
    """Return the time that each release adds to a gap; 0 if it is not significant."""
    if len(task) < MIN_GAPS:
        return 0.0
    bulk = task <= np.quantile(task, GAP_QUANTILE)
    x, y = releases[bulk] - releases[bulk].mean(), task[bulk] - task[bulk].mean()
    spread, mean_s = float(x @ x), float(task[bulk].mean())
    if not spread or not mean_s:
        return 0.0
    slope = float(x @ y) / spread
    error = sqrt(float(((y - slope * x) ** 2).sum()) / (len(x) - 2) / spread)
    part = slope * float(releases[bulk].mean()) / mean_s
    return slope if slope > MIN_STANDARD_ERRORS * error and part >= MIN_RELEASE_SHARE else 0.0


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else 0.0
