"""Overheads of the native runtime itself, read from its own runs.

They are means, by what they depend on, so that the time that a run loses between its tasks is lost
in its simulation too. Measured on runs of both runtimes: the time between two tasks grows with the
tasks that the first one released, each of which is pushed before the worker asks again; not with
the data of the second, which native tasks find by addresses made before the run.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import sqrt
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.platform.description import Overheads
from tasksim.run.disturbance import LONGEST_OWN_GAP_S

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from tasksim.run.record import Run

    Numbers = NDArray[np.float64]

__all__ = ["Gaps", "gaps", "measured_overheads"]

BULK: Final = 0.95
"""The share of gaps of which it is asked what a release costs. The others last as long as the
system keeps a thread off its core, a thousand times as long, whatever was released."""
FEWEST: Final = 30
"""Gaps below which nothing is asked: as many make the errors of a slope nearly normal."""
SURE: Final = 3.0
"""Standard errors by which a slope is above zero, at least: by chance, one in 700 is."""
MATTERS: Final = 0.1
"""The least part of a gap that releases take, if they are to cost something of their own: a
simulation without is simpler."""


@dataclass(frozen=True)
class Gaps:
    """The times between kernels of a run, in seconds, by what caused them."""

    task: Numbers
    """From a task's end to the next start on the same worker, which was awake all the time."""
    task_releases: Numbers
    """Per such gap, how many tasks the first one released."""
    wakeup: Numbers
    """From the end that released a task to its start on a worker that slept."""
    wakeup_releases: Numbers
    """Per such gap, how many tasks were released there up to this one."""
    submission: Numbers
    """Between one task's submission and the next."""


def gaps(run: Run) -> Gaps:
    """Return the gaps between kernels in *run*.

    Where the system tells what others took, gaps in which they had the core are left out.
    """
    found = _gaps(run)
    return found if run.disturbance is None else _own(found)


def _own(found: Gaps) -> Gaps:
    """Return *found* without the gaps in which others had the core."""
    task, wakeup = found.task <= LONGEST_OWN_GAP_S, found.wakeup <= LONGEST_OWN_GAP_S
    return Gaps(
        task=found.task[task],
        task_releases=found.task_releases[task],
        wakeup=found.wakeup[wakeup],
        wakeup_releases=found.wakeup_releases[wakeup],
        submission=found.submission[found.submission <= LONGEST_OWN_GAP_S],
    )


def _gaps(run: Run) -> Gaps:
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
    return Gaps(
        task=tasks.start_s[after][awake] - previous_end[awake],
        task_releases=np.bincount(by[by >= 0], minlength=count)[before[awake]].astype(float),
        wakeup=tasks.start_s[after][woken] - tasks.end_s[released[woken]],
        wakeup_releases=_places(by, tasks.ready_s)[after[woken]],
        submission=np.diff(tasks.submitted_s),
    )


def _places(released_by: NDArray[np.int32], ready_s: Numbers) -> Numbers:
    """Return per task which it was of those that the same task released: 1, 2, ..."""
    order = np.lexsort((ready_s, released_by))
    first = np.flatnonzero(np.diff(released_by[order], prepend=-2))
    places = np.arange(len(order)) - np.repeat(first, np.diff(first, append=len(order)))
    found = np.empty(len(order))
    found[order] = places + 1
    return found


def measured_overheads(runs: Iterable[Gaps]) -> Overheads:
    """Return the costs of the runtime: the means over all *runs*.

    What a release costs is told apart where the gaps show it; what is left of the mean is the
    task's own.
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


def _per_release(task: Numbers, releases: Numbers) -> float:
    """Return what each release adds to a gap; 0 where the gaps do not show that it does."""
    if len(task) < FEWEST:
        return 0.0
    bulk = task <= np.quantile(task, BULK)
    x, y = releases[bulk] - releases[bulk].mean(), task[bulk] - task[bulk].mean()
    spread = float(x @ x)
    if not spread:
        return 0.0
    slope = float(x @ y) / spread
    error = sqrt(float(((y - slope * x) ** 2).sum()) / (len(x) - 2) / spread)
    part = slope * float(releases[bulk].mean()) / float(task[bulk].mean())
    return slope if slope > SURE * error and part >= MATTERS else 0.0


def _mean(values: Numbers) -> float:
    return float(values.mean()) if len(values) else 0.0
