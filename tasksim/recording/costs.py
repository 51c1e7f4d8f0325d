"""Costs of the runtime of a program that was recorded, and its platform."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tasksim.platform.description import Memory, Overheads, Platform, Worker
from tasksim.recording.workers import CPU, MAIN

if TYPE_CHECKING:
    from tasksim.run.record import Run

__all__ = [
    "costs",
    "main_threads_lost_s",
    "platform_like",
    "workers_lost_s",
]


def costs(run: Run, submission_s: float) -> Overheads:
    """Return what the program's runtime costs between tasks, as its recorded run shows.

    *submission_s* is the time that one submission takes the thread that submits.
    """
    lost_s = workers_lost_s(run) + main_threads_lost_s(run)
    return Overheads(submission_s=submission_s, task_s=lost_s / len(run))


def main_threads_lost_s(run: Run) -> float:
    """Return the time from ends that threads waited for until they went on."""
    tasks = run.tasks
    main = np.array([worker.architecture == MAIN for worker in run.workers])[tasks.worker]
    return float((tasks.start_s - tasks.taken_s)[main].sum())


def workers_lost_s(run: Run) -> float:
    """Return the time that workers of *run* had nothing to do while tasks were ready.

    All workers together; a task that is ready counts for one of them. A pool's tasks are for all
    its workers, so it is this time, and no other between two tasks, that its runtime takes.
    """
    tasks = run.tasks
    kind = np.array([worker.architecture == CPU for worker in run.workers])
    own = kind[tasks.worker]
    ready, start, end = tasks.ready_s[own], tasks.start_s[own], tasks.end_s[own]
    times = np.concatenate([ready, start, end])
    idle = np.repeat([0, -1, 1], len(ready))
    waiting = np.repeat([1, -1, 0], len(ready))
    order = np.argsort(times, kind="stable")
    idle = int(kind.sum()) + np.cumsum(idle[order])[:-1]
    waiting = np.cumsum(waiting[order])[:-1]
    return float(np.minimum(idle, waiting) @ np.diff(times[order]))


def platform_like(run: Run, overheads: Overheads, workers: int | None = None) -> Platform:
    """Return the platform of a recorded *run*, with as many *workers* if a number is given."""
    counts = {kind: sum(w.architecture == kind for w in run.workers) for kind in (CPU, MAIN)}
    if workers is not None:
        counts[CPU] = workers
    names = [(f"{kind}{n}", kind) for kind, count in counts.items() for n in range(count)]
    found = tuple(Worker(n, name, kind, 0) for n, (name, kind) in enumerate(names))
    return Platform(run.platform, found, (Memory(0, "ram"),), overheads=overheads)
