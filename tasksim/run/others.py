"""Others' share of a native run: what they took from each task, each worker, and over time.

The system tells how long a thread had no core, not when: that time is spread evenly over the task,
and what a worker lost between its tasks over the time between them.
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
    """Return how long others had the core of each task; 0 where nobody knows."""
    return run.tasks.duration_s - undisturbed_s(run)


def others_percent(run: Run) -> Float64:
    """Return per worker how much of the makespan others had its core; NaN where nobody knows.

    The worker was ready, in a task or between two.
    """
    return 100.0 * _waited_s(run) / (run.makespan_s or 1.0)


def others_between_s(run: Run) -> Float64:
    """Return per worker how long others had its core between its tasks; 0 where nobody knows."""
    in_tasks_s = np.bincount(run.tasks.worker, others_s(run), len(run.workers))
    return np.nan_to_num(np.maximum(_waited_s(run) - in_tasks_s, 0.0))


def others_curve(run: Run, edges_s: Float64) -> Float64:
    """Return which share of the workers' cores others had in each slice of time, from 0 to 1."""
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
    """Return how long the thread of each worker was ready without a core; NaN: not known."""
    if run.disturbance is None:
        return np.full(len(run.workers), np.nan)
    return np.array(run.disturbance.waited_s, dtype=np.float64)  # None becomes NaN


def _gaps(run: Run) -> tuple[NDArray[np.intp], Float64, Float64]:
    """Return the times in which workers ran no task: the worker, the beginning and the end."""
    tasks, workers = run.tasks, np.arange(len(run.workers))
    # A task that takes no time ends each worker's last gap with the run.
    last_s = np.full(len(workers), run.makespan_s)
    worker = np.concatenate([tasks.worker, workers]).astype(np.intp)
    start_s, end_s = (np.concatenate([at, last_s]) for at in (tasks.start_s, tasks.end_s))
    order = np.lexsort((end_s, start_s, worker))
    worker, start_s, end_s = worker[order], start_s[order], end_s[order]
    free_s = np.zeros(len(order))
    free_s[1:] = np.where(worker[1:] == worker[:-1], end_s[:-1], 0.0)
    return worker, free_s, np.maximum(start_s, free_s)
