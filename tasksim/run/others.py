"""Time that other programs took from a native run, per task, per worker, and over time.

The system reports how long a thread had no core, but not when: the time is spread evenly over the
task, and a worker's losses between its tasks over the time between them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tasksim.run.disturbance import undisturbed_s
from tasksim.run.slices import mean_sum

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.run.record import Run

    Float64 = NDArray[np.float64]

__all__ = ["others_between_s", "others_curve", "others_percent", "others_s"]


def others_s(run: Run) -> Float64:
    """Return the time that others had each task's core; 0 where it is unknown."""
    return run.tasks.duration_s - undisturbed_s(run)


def others_percent(run: Run) -> Float64:
    """Return, per worker, the percentage of the makespan that others had its core; NaN: unknown.

    The worker was ready then, in a task or between two.
    """
    return 100.0 * _waited_s(run) / (run.makespan_s or 1.0)


def others_between_s(run: Run) -> Float64:
    """Return, per worker, the time that others had its core between tasks; 0 where unknown."""
    in_tasks_s = np.bincount(run.tasks.worker, others_s(run), len(run.workers))
    return np.nan_to_num(np.maximum(_waited_s(run) - in_tasks_s, 0.0))


def others_curve(run: Run, edges_s: Float64) -> Float64:
    """Return the share of the workers' cores that others had in each slice of time, 0 to 1."""
    tasks, worker, begin_s, end_s = run.tasks, *_gaps(run)
    gap_s = np.bincount(worker, end_s - begin_s, len(run.workers))
    lost = np.minimum(others_between_s(run) / np.where(gap_s > 0, gap_s, np.inf), 1.0)
    taken_s = others_s(run)
    share = taken_s / np.where(taken_s > 0, tasks.duration_s, np.inf)
    cores = mean_sum(
        np.concatenate([tasks.start_s, begin_s]), np.concatenate([tasks.end_s, end_s]),
        edges_s, np.concatenate([share, lost[worker]]),
    )  # fmt: skip
    return np.clip(cores / len(run.workers), 0.0, 1.0)


def _waited_s(run: Run) -> Float64:
    """Return the time that each worker's thread was ready without a core; NaN: unknown."""
    if run.disturbance is None:
        return np.full(len(run.workers), np.nan)
    return np.array(run.disturbance.waited_s, dtype=np.float64)  # None becomes NaN


def _gaps(run: Run) -> tuple[NDArray[np.intp], Float64, Float64]:
    """Return the times in which workers ran no task: worker, beginning and end."""
    tasks, workers = run.tasks, np.arange(len(run.workers))
    # An empty task at the end of the run closes each worker's last gap.
    last_s = np.full(len(workers), run.makespan_s)
    worker = np.concatenate([tasks.worker, workers]).astype(np.intp)
    start_s, end_s = (np.concatenate([at, last_s]) for at in (tasks.start_s, tasks.end_s))
    order = np.lexsort((end_s, start_s, worker))
    worker, start_s, end_s = worker[order], start_s[order], end_s[order]
    free_s = np.zeros(len(order))
    free_s[1:] = np.where(worker[1:] == worker[:-1], end_s[:-1], 0.0)
    return worker, free_s, np.maximum(start_s, free_s)
