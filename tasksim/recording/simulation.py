"""Simulation of what was recorded: its platform, its costs, its durations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import InputError, unknown
from tasksim.models.kinds.given import GivenModel
from tasksim.platform.description import Memory, Overheads, Platform, Worker
from tasksim.recording.log import MAIN_THREAD
from tasksim.recording.workers import CPU, MAIN

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.run.record import Run

__all__ = [
    "MeasuredDurations",
    "able",
    "costs",
    "main_threads_lost_s",
    "platform_like",
    "workers_lost_s",
]


class MeasuredDurations:
    """Models by which each task takes what it took, where it can run.

    What the program's own thread did runs there and nowhere else; all else on the workers.
    """

    def __init__(self, graph: TaskGraph) -> None:
        self._kernels = graph.model_names

    def kernels(self) -> tuple[str, ...]:
        """Return the kernels, in order of their names."""
        return tuple(sorted(self._kernels))

    def model(self, kernel: str, architecture: str) -> KernelModel:
        """Return the model of *kernel*; :exc:`InputError` if it cannot run there."""
        if kernel not in self._kernels:
            raise unknown("kernel", kernel, self._kernels)
        if (kernel == MAIN_THREAD) != (architecture == MAIN):
            raise InputError(f"{kernel} does not run on {architecture}")
        model = GivenModel()
        model.label = kernel
        return model

    def locality(self, kernel: str, architecture: str) -> None:
        """Return None: what was measured does not depend on where the data are."""


def able(graph: TaskGraph, architecture: str) -> NDArray[np.bool_]:
    """Return per task of *graph* whether workers of an *architecture* can run it."""
    is_main: NDArray[np.bool_] = graph.kernel == _number(graph, MAIN_THREAD)
    return is_main if architecture == MAIN else ~is_main


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


def _number(graph: TaskGraph, kernel: str) -> int:
    return graph.kernels.index(kernel) if kernel in graph.kernels else -1
