"""Metrics of a run, computed from its task records."""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from tasksim.base.arrays import Floats, Ints
    from tasksim.run.record import Run

__all__ = [
    "IDLE_NAMES",
    "QUANTILES",
    "KernelStatistics",
    "Waits",
    "busy_s",
    "efficiency",
    "idle_s",
    "idle_time",
    "idleness_percent",
    "kernel_durations",
    "kernel_statistics",
    "ready_curve",
    "submitted_curve",
    "summary",
    "task_counts",
    "waits",
]


IDLE_NAMES: Final = {
    "dependency": "idle for dependencies",
    "transfer": "idle for data",
    "queue": "idle for the runtime",
    "end": "idle at the end",
}
"""Names of the causes of idle time in tables, figures and pages, by those of :class:`IdleTime`."""


@dataclass(frozen=True, slots=True)
class IdleTime:
    """Idle time of each worker by cause, in seconds.

    The parts of a worker add up to :func:`tasksim.run.metrics.idle_s`. Before a task that it runs,
    an idle worker waits in this order:
    """

    dependency_s: Floats
    """Wait until the task is ready, that is, submitted and with all predecessors ended."""
    transfer_s: Floats | None
    """Wait for data, from when the task is ready and taken by the worker until its last copy
    arrives (:func:`tasksim.run.copystatistics.data_arrival_s`). None: unknown, and part of
    *queue_s*."""
    queue_s: Floats
    """Wait for the runtime: while a ready task is not taken yet, and after its data arrived."""
    end_s: Floats
    """Wait for the end of the run, after its last task."""

    def totals(self) -> dict[str, float | None]:
        """Return the sums over the workers: ``dependency``, ``transfer``, ``queue``, ``end``."""
        return {name: None if part is None else float(part.sum()) for name, part in self._parts()}

    def of_workers(self) -> list[dict[str, float | None]]:
        """Return the parts of each worker, by the same names."""
        return [
            {name: None if part is None else float(part[worker]) for name, part in self._parts()}
            for worker in range(len(self.end_s))
        ]

    def _parts(self) -> list[tuple[str, Floats | None]]:
        return [(f.name.removesuffix("_s"), getattr(self, f.name)) for f in fields(self)]


def idle_time(run: Run) -> IdleTime:
    """Return the idle time of the workers by what they waited for."""
    from tasksim.run.copystatistics import data_arrival_s, data_waits_known

    tasks = run.tasks
    order = np.lexsort((tasks.task, tasks.end_s, tasks.start_s, tasks.worker))
    worker, ready_s = tasks.worker[order], tasks.ready_s[order]
    start_s, end_s = tasks.start_s[order], tasks.end_s[order]
    free_s = np.zeros(len(order))  # end of the worker's task before
    same = worker[1:] == worker[:-1]
    free_s[1:][same] = end_s[:-1][same]
    last_s = np.zeros(len(run.workers))
    np.maximum.at(last_s, worker, end_s)
    taken_s = np.maximum(tasks.taken_s[order], np.maximum(ready_s, free_s))
    arrival_s = np.minimum(data_arrival_s(run)[order], start_s)
    gap_s = np.maximum(0.0, start_s - free_s)
    dependency_s = np.clip(ready_s - free_s, 0.0, gap_s)
    transfer_s = np.clip(arrival_s - taken_s, 0.0, gap_s - dependency_s)

    def per_worker(values: Floats) -> Floats:
        return np.bincount(worker, values, minlength=len(run.workers)).astype(np.float64)

    return IdleTime(
        dependency_s=per_worker(dependency_s),
        transfer_s=per_worker(transfer_s) if data_waits_known(run) else None,
        queue_s=per_worker(gap_s - dependency_s - transfer_s),
        end_s=run.makespan_s - last_s,
    )


QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Quantiles of durations in :class:`KernelStatistics`."""


@dataclass(frozen=True, slots=True)
class KernelStatistics:
    """Statistics of the durations of one kernel's tasks, in seconds."""

    kernel: str
    count: int
    total_s: float
    mean_s: float
    median_s: float
    std_s: float
    """Sample standard deviation; 0 for a single task."""
    min_s: float
    max_s: float
    quantiles_s: tuple[float, ...]
    """Values at :data:`QUANTILES`."""


@dataclass(frozen=True, slots=True)
class Waits:
    """Waiting time of each task before its start, in seconds, by cause."""

    dependency_s: Floats
    """Wait from its submission until it is ready."""
    transfer_s: Floats | None
    """Wait from when it is ready and taken by a worker until its data arrive. None: unknown, and
    part of *queue_s*."""
    queue_s: Floats
    """The rest until its start: in the scheduler's queues, behind other tasks of its worker, and in
    the runtime."""


def busy_s(run: Run) -> Floats:
    """Return the time for which each worker ran tasks."""
    busy = np.bincount(run.tasks.worker, run.tasks.duration_s, minlength=len(run.workers))
    return busy.astype(np.float64)


def idle_s(run: Run) -> Floats:
    """Return the time for which each worker ran no task, until the makespan."""
    return run.makespan_s - busy_s(run)


def idleness_percent(run: Run) -> Floats:
    """Return ``100 (1 - busy / makespan)`` per worker; 0 if the makespan is 0."""
    if not run.makespan_s:
        return np.zeros(len(run.workers))
    return 100.0 * (1.0 - busy_s(run) / run.makespan_s)


def task_counts(run: Run) -> Ints:
    """Return the number of tasks per worker."""
    return np.bincount(run.tasks.worker, minlength=len(run.workers)).astype(np.int64)


def efficiency(run: Run) -> float:
    """Return the busy share of the workers' time: ``sum busy / (workers makespan)``."""
    capacity = len(run.workers) * run.makespan_s
    return float(busy_s(run).sum() / capacity) if capacity else 0.0


def kernel_durations(run: Run) -> dict[str, Floats]:
    """Return the durations of the tasks of each kernel that ran, in task order."""
    durations, kernel = run.tasks.duration_s, run.tasks.kernel
    order = np.argsort(kernel, kind="stable")
    limits = np.searchsorted(kernel[order], np.arange(len(run.kernel_names) + 1))
    parts = [durations[order[low:high]] for low, high in pairwise(limits.tolist())]
    return {n: part for n, part in zip(run.kernel_names, parts, strict=True) if len(part)}


def kernel_statistics(run: Run) -> list[KernelStatistics]:
    """Return the statistics of each kernel that ran, in the order of ``run.kernel_names``."""
    found = []
    for name, values in kernel_durations(run).items():
        ordered = np.sort(values)
        middle = (len(ordered) - 1) // 2, len(ordered) // 2
        statistics = KernelStatistics(
            kernel=name,
            count=len(values),
            total_s=float(values.sum()),
            mean_s=float(values.mean()),
            median_s=float((ordered[middle[0]] + ordered[middle[1]]) / 2),
            std_s=float(values.std(ddof=1)) if len(values) > 1 else 0.0,
            min_s=float(ordered[0]),
            max_s=float(ordered[-1]),
            quantiles_s=tuple(_quantile(ordered, level) for level in QUANTILES),
        )
        found.append(statistics)
    return found


def _quantile(ordered: Floats, level: float) -> float:
    """Return the result of :func:`numpy.quantile`, which would import masked arrays."""
    place = (len(ordered) - 1) * level
    below = int(place)
    share = place - below
    low, high = float(ordered[below]), float(ordered[min(below + 1, len(ordered) - 1)])
    step = high - low
    return low + step * share if share < 0.5 else high - step * (1 - share)


def ready_curve(run: Run) -> tuple[Floats, Ints]:
    """Return the number of tasks that are ready and have not started, over time.

    Returns
    -------
    times_s, count :
        A step function: from ``times_s[i]`` until ``times_s[i + 1]`` there are ``count[i]``.
        The times ascend strictly, from 0 to the makespan.
    """
    return _steps(run.tasks.ready_s, run.tasks.start_s, run.makespan_s)


def submitted_curve(run: Run) -> tuple[Floats, Ints]:
    """Return the number of tasks that are submitted and have not ended, as :func:`ready_curve`."""
    return _steps(run.tasks.submitted_s, run.tasks.end_s, run.makespan_s)


def _steps(up_s: Floats, down_s: Floats, until_s: float) -> tuple[Floats, Ints]:
    """Return the step function that goes up at each of *up_s* and down at each of *down_s*."""
    times, index = np.unique(np.concatenate(([0.0, until_s], up_s, down_s)), return_inverse=True)
    change = np.bincount(index[2 : 2 + len(up_s)], minlength=len(times))
    change -= np.bincount(index[2 + len(up_s) :], minlength=len(times))
    return times, np.cumsum(change)


def waits(run: Run) -> Waits:
    """Return the waits of each task: for dependencies, for data, for the scheduler and a worker."""
    tasks = run.tasks
    dependency_s, queue_s = tasks.ready_s - tasks.submitted_s, tasks.start_s - tasks.ready_s
    if run.transfers is None:
        return Waits(dependency_s, np.zeros(len(run)), queue_s)
    from tasksim.run.copystatistics import data_arrival_s, data_waits_known

    if not data_waits_known(run):
        return Waits(dependency_s, None, queue_s)
    taken_s = np.maximum(tasks.taken_s, tasks.ready_s)
    arrival_s = np.minimum(data_arrival_s(run), tasks.start_s)
    transfer_s = np.maximum(0.0, arrival_s - taken_s)
    return Waits(dependency_s, transfer_s, queue_s - transfer_s)


def summary(run: Run) -> dict[str, Any]:
    """Return a summary of the metrics as plain JSON data, as in ``run.json``."""
    waited = waits(run)
    tasks = max(len(run), 1)
    found = {
        "makespan_s": run.makespan_s,
        "tasks": len(run),
        "workers": len(run.workers),
        "busy_s": float(busy_s(run).sum()),
        "efficiency": efficiency(run),
        "idleness_percent": float(idleness_percent(run).mean()) if run.workers else 0.0,
        "mean_dependency_wait_s": float(waited.dependency_s.sum() / tasks),
        "mean_queue_wait_s": float(waited.queue_s.sum() / tasks),
        "idle_waits_s": idle_time(run).totals(),
    }
    if run.transfers is not None:
        from tasksim.run.copystatistics import transfer_summary

        known = waited.transfer_s
        found["mean_transfer_wait_s"] = None if known is None else float(known.sum() / tasks)
        found["transfers"] = transfer_summary(run)
        found["evictions"] = run.evictions
    if run.numa is not None:
        found["remote_bytes"] = run.numa.remote_bytes
        found["remote_share"] = run.numa.remote_share
        found["remote_extra_s"] = run.numa.total_extra_s
    found["kernels"] = {
        s.kernel: {"count": s.count, "total_s": s.total_s, "mean_s": s.mean_s}
        for s in kernel_statistics(run)
    }
    return found
