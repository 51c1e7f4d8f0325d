"""Metrics of cells, optional columns of a study's table.

They need whole runs, with tables of tasks and transfers, which the fast batch simulation does not
make. Those of paths also need the graph.
"""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run

__all__ = ["METRICS", "METRICS_OF_PATHS", "METRIC_NAMES", "measured"]


def _copies(run: Run) -> float:
    return float(0 if run.transfers is None else len(run.transfers))


def _waits(name: str) -> Callable[[Run], float]:
    def mean(run: Run) -> float:
        from tasksim.run.metrics import waits

        waited = getattr(waits(run), name)
        return nan if waited is None else float(waited.sum() / max(len(run), 1))

    return mean


def _idle_s(run: Run) -> float:
    from tasksim.run.metrics import idle_s

    return float(idle_s(run).sum())


def _energy_j(run: Run) -> float:
    from tasksim.run.energy import energy

    return energy(run).total_j


def _longest(cost: str) -> Callable[[Run, TaskGraph], float]:
    def longest(run: Run, graph: TaskGraph) -> float:
        from tasksim.run.schedulepath import schedule_path
        from tasksim.run.taskcosts import task_costs

        costs = task_costs(run, graph)[cost]
        return nan if np.isnan(costs).any() else schedule_path(run, graph, costs).cost

    return longest


def _closed(cost: str) -> Callable[[Run, TaskGraph], float]:
    def closed(_: Run, graph: TaskGraph) -> float:
        from tasksim.graph.closedcosts import closed_costs

        return (closed_costs(graph) or {}).get(cost, nan)

    return closed


def _kernels_on_path_s(run: Run, _: TaskGraph) -> float:
    from tasksim.run.critical import tasks_on_path

    on_path = [task for task, _ in tasks_on_path(run.tasks, run.label)]
    return float(run.tasks.duration_s[on_path].sum())


METRICS_OF_PATHS: Final[dict[str, Callable[[Run, TaskGraph], float]]] = {
    "path_kernel_s": _kernels_on_path_s,
    "path_synchronisations": _longest("synchronisations"),
    "path_words": _longest("words"),
    "path_flop": _longest("flop"),
    "closed_synchronisations": _closed("synchronisations"),
    "closed_words": _closed("words"),
    "closed_flop": _closed("flop"),
}
"""Metrics of paths through the schedule: the time of kernels on the practical critical path, the
largest cost of any path in the bulk-synchronous model, and what closed formulas say of it."""

METRICS: Final[dict[str, Callable[[Run], float]]] = {
    "copies": _copies,
    "energy_j": _energy_j,
    "evictions": lambda run: float(run.evictions),
    "idle_s": _idle_s,
    "mean_dependency_wait_s": _waits("dependency_s"),
    "mean_transfer_wait_s": _waits("transfer_s"),
    "mean_queue_wait_s": _waits("queue_s"),
}
"""Functions that compute the metrics of a run, by name."""

METRIC_NAMES: Final = (*METRICS, *METRICS_OF_PATHS)
"""Names of all metrics."""


def measured(run: Run, graph: TaskGraph, names: tuple[str, ...]) -> tuple[float, ...]:
    """Return the metrics *names* of a *run* of *graph*."""
    return tuple(
        METRICS[name](run) if name in METRICS else METRICS_OF_PATHS[name](run, graph)
        for name in names
    )
