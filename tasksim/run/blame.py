"""Blame of a makespan above the area bound, by cause, in seconds that add up.

The dual values of the area bound's program are prices of the classes of workers: what a second of a
worker is worth in seconds of the makespan. At these prices all workers together are worth one
second per second, and the area bound is the cost of all tasks, each on its cheapest class. So the
makespan less the bound is, exactly, what tasks cost more than on their cheapest class, and what
idle time costs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tasksim.base.errors import InputError
from tasksim.run.metrics import IDLE_NAMES, idle_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.base.arrays import Floats, Ints
    from tasksim.run.record import Run

__all__ = ["Blame", "blame", "class_prices"]


class Blame(NamedTuple):
    """The parts of a makespan, in seconds; their sum is the makespan."""

    makespan_s: float
    bound_s: float
    """The area bound: no part, but the least that tasks cost."""
    placement_s: dict[str, float]
    """Extra cost of each kernel's tasks over that on their cheapest class."""
    durations_s: float
    """Cost of tasks that took longer than their models say, negative if they were shorter."""
    start_s: float
    """Idle time until the first task of a worker is ready."""
    dependency_s: float
    """Idle time until later tasks are ready: that of the order, of priorities, of the graph."""
    transfer_s: float | None
    """Idle time until data have arrived. None: unknown, and part of *queue_s*."""
    queue_s: float
    """Idle time of workers with a ready task: the runtime's costs, and tasks not yet taken."""
    end_s: float
    """Idle time after the last task of a worker."""
    unused_s: float
    """Time of workers that run no task."""

    def rows(self) -> list[tuple[str, float]]:
        """Return the bound and the parts above it, with their names."""
        placed = [(f"{kernel} on a dearer class", s) for kernel, s in self.placement_s.items()]
        waits = [("idle for data or the runtime", self.queue_s)]
        if self.transfer_s is not None:
            waits = [
                (IDLE_NAMES["transfer"], self.transfer_s), (IDLE_NAMES["queue"], self.queue_s)
            ]  # fmt: skip
        return [
            ("area bound", self.bound_s),
            *placed,
            ("longer than modelled", self.durations_s),
            ("idle at the start", self.start_s),
            (IDLE_NAMES["dependency"], self.dependency_s),
            *waits,
            (IDLE_NAMES["end"], self.end_s),
            ("workers without a task", self.unused_s),
        ]


def class_prices(costs_s: Floats, workers: Sequence[int]) -> Floats:
    """Return the price of a second of one worker of each class.

    Parameters
    ----------
    costs_s : ndarray, shape (classes, tasks)
        Durations in seconds, infinite where a class cannot run a task.
    workers : sequence of int
        Number of workers of each class.
    """
    from tasksim.run.areaprogram import area_program_highs

    counts = np.asarray(workers, np.float64)
    rows, times = np.unique(costs_s.T, axis=0, return_counts=True)
    scale = float((rows.min(axis=1, initial=np.inf) * times).sum()) if len(rows) else 0.0
    if not scale:
        return np.full(len(counts), 1.0 / counts.sum())
    work = np.where(counts > 0, rows * times[:, None] / scale, np.inf)
    found = area_program_highs(work, counts)
    if found.status:
        raise InputError("the area bound has no solution: a task cannot run on any worker")
    prices = np.maximum(0.0, -found.ineqlin.marginals)
    return np.asarray(prices / float(prices @ counts), np.float64)


def blame(run: Run, costs_s: Floats, class_of: Ints) -> Blame:
    """Return the parts of the makespan of *run*.

    Parameters
    ----------
    run : Run
        A run on one node.
    costs_s : ndarray, shape (classes, tasks)
        Modelled durations of its tasks in seconds, infinite where a class cannot run a task.
    class_of : ndarray of int
        The class of each worker.
    """
    price = class_prices(costs_s, np.bincount(class_of, minlength=len(costs_s)).tolist())
    of_worker = price[class_of]
    table = run.tasks
    task, group = table.task, class_of[table.worker]
    with np.errstate(invalid="ignore"):
        dear = np.where(np.isfinite(costs_s), costs_s * price[:, None], np.inf)
    cheapest = dear.min(axis=0)[task]
    modelled = costs_s[group, task]
    above = modelled * price[group] - cheapest
    taken = (table.end_s - table.start_s - modelled) * price[group]
    kernels = np.bincount(table.kernel, above, len(run.kernel_names))
    idle = idle_time(run)
    first_s = _first_ready_s(run)
    start_s = np.minimum(first_s, idle.dependency_s)
    used = np.bincount(table.worker, minlength=len(run.workers)) > 0
    return Blame(
        run.makespan_s,
        float(cheapest.sum()),
        {name: float(s) for name, s in zip(run.kernel_names, kernels, strict=True)},
        float(taken.sum()),
        float(of_worker @ start_s),
        float(of_worker @ (idle.dependency_s - start_s)),
        None if idle.transfer_s is None else float(of_worker @ idle.transfer_s),
        float(of_worker @ idle.queue_s),
        float(of_worker @ np.where(used, idle.end_s, 0.0)),
        float(of_worker @ np.where(used, 0.0, idle.end_s)),
    )


def _first_ready_s(run: Run) -> Floats:
    """Return, per worker, when its first task was ready; 0 if it has none."""
    table = run.tasks
    order = np.lexsort((table.task, table.end_s, table.start_s, table.worker))
    workers, first = np.unique(table.worker[order], return_index=True)
    found = np.zeros(len(run.workers))
    found[workers] = np.minimum(table.ready_s[order][first], table.start_s[order][first])
    return found
