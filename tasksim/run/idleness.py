"""Idle time of workers, by what they waited for."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from tasksim.run.copystatistics import data_arrival_s

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.run.record import Run

__all__ = ["IdleTime", "idle_time"]


@dataclass(frozen=True, slots=True)
class IdleTime:
    """Idle time of each worker, split by what it waited for, in seconds.

    The parts of a worker add up to :func:`tasksim.run.metrics.idle_s`. Before a task that it runs,
    an idle worker waits in this order:
    """

    dependency_s: NDArray[np.float64]
    """Until the task is ready, that is submitted and with all predecessors ended."""
    transfer_s: NDArray[np.float64]
    """For data: from when the task is ready and taken by the worker until the last copy made for it
    arrives (:func:`tasksim.run.copystatistics.data_arrival_s`)."""
    queue_s: NDArray[np.float64]
    """For the runtime: while a ready task is not taken yet, and after its data arrived."""
    end_s: NDArray[np.float64]
    """For the end of the run, after its last task."""

    def totals(self) -> dict[str, float]:
        """Return the sums over the workers: ``dependency``, ``transfer``, ``queue``, ``end``."""
        return {name: float(part.sum()) for name, part in self._parts().items()}

    def of_workers(self) -> list[dict[str, float]]:
        """Return the parts of each worker, by the same names."""
        parts = {name: part.tolist() for name, part in self._parts().items()}
        return [dict(zip(parts, row, strict=True)) for row in zip(*parts.values(), strict=True)]

    def _parts(self) -> dict[str, NDArray[np.float64]]:
        return {f.name.removesuffix("_s"): getattr(self, f.name) for f in fields(self)}


def idle_time(run: Run) -> IdleTime:
    """Return the idle time of the workers by what they waited for.

    If it is unknown when a task was taken, no time counts as waiting for data.
    """
    order, free_s, last_s = _timeline(run)
    tasks, worker = run.tasks, run.tasks.worker[order]
    start_s, ready_s = tasks.start_s[order], tasks.ready_s[order]
    taken_s = np.maximum(tasks.taken_s[order], np.maximum(ready_s, free_s))
    arrival_s = np.minimum(data_arrival_s(run)[order], start_s)
    gap_s = np.maximum(0.0, start_s - free_s)
    dependency_s = np.clip(ready_s - free_s, 0.0, gap_s)
    transfer_s = np.clip(arrival_s - taken_s, 0.0, gap_s - dependency_s)

    def per_worker(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.bincount(worker, values, minlength=len(run.workers)).astype(np.float64)

    return IdleTime(
        dependency_s=per_worker(dependency_s),
        transfer_s=per_worker(transfer_s),
        queue_s=per_worker(gap_s - dependency_s - transfer_s),
        end_s=run.makespan_s - last_s,
    )


def _timeline(
    run: Run,
) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
    """Return the tasks by worker and start, when each worker was free before, its last end."""
    tasks = run.tasks
    order = np.lexsort((tasks.task, tasks.end_s, tasks.start_s, tasks.worker))
    worker, end_s = tasks.worker[order], tasks.end_s[order]
    free_s = np.zeros(len(order))
    same = worker[1:] == worker[:-1]
    free_s[1:][same] = end_s[:-1][same]
    last_s = np.zeros(len(run.workers))
    np.maximum.at(last_s, worker, end_s)
    return order, free_s, last_s
