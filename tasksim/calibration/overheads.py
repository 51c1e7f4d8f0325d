"""Overheads of the native runtime itself, read from its own runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tasksim.platform.description import Overheads

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from tasksim.run.record import Run

__all__ = ["Gaps", "gaps", "measured_overheads"]


@dataclass(frozen=True)
class Gaps:
    """The times between kernels of a run, in seconds, by what caused them."""

    task: NDArray[np.float64]
    """From a task's end to the next start on the same worker, which was awake all the time."""
    wakeup: NDArray[np.float64]
    """From the end that released a task to its start on a worker that slept."""
    submission: NDArray[np.float64]
    """Between one task's submission and the next."""


def gaps(run: Run) -> Gaps:
    """Return the gaps between kernels in *run*."""
    tasks = run.tasks
    order = np.lexsort((tasks.start_s, tasks.worker))
    follows = np.flatnonzero(np.diff(tasks.worker[order]) == 0)
    before, after = order[follows], order[follows + 1]
    previous_end = tasks.end_s[before]
    own = tasks.released_by[after] == before
    awake = own | (tasks.ready_s[after] <= previous_end)
    released = tasks.released_by[after]
    woken = ~awake & (released >= 0)
    return Gaps(
        task=tasks.start_s[after][awake] - previous_end[awake],
        wakeup=tasks.start_s[after][woken] - tasks.end_s[released[woken]],
        submission=np.diff(tasks.submitted_s),
    )


def measured_overheads(runs: Iterable[Gaps]) -> Overheads:
    """Return the costs of the runtime: the medians over all *runs*.

    Medians, because a few gaps last as long as the system keeps a thread off its core; what
    that costs in the long run is in the kernels' durations already.
    """
    collected = list(runs)

    def median(parts: list[NDArray[np.float64]]) -> float:
        values = np.concatenate(parts) if parts else np.empty(0)
        return float(np.median(values)) if len(values) else 0.0

    task_s = median([part.task for part in collected])
    wakeup_s = median([part.wakeup for part in collected])
    return Overheads(
        submission_s=median([part.submission for part in collected]),
        task_s=task_s,
        wakeup_s=max(0.0, wakeup_s - task_s),
    )
