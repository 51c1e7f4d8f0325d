"""Lower bounds on the makespan of any schedule of a graph on a platform.

The critical path accounts for dependencies, the area bound for the number of workers. The area
bound is that of StarPU (``src/profiling/bound.c``, without dependencies) and StarVZ's "area bound
estimation": a linear program over the number of tasks of each kernel on each class of workers.
Neither includes transfers or overheads of the runtime.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import InputError, expect
from tasksim.base.units import duration_text
from tasksim.graph.taskgraph import TaskGraph

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tasksim.base.arrays import Floats


__all__ = ["Bounds", "area_bound", "bounds", "critical_path_bound"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Lower bounds on the makespan, in seconds."""

    critical_path_s: float
    """Length of the graph's longest path, with each task on its fastest class of workers."""
    area_s: float
    """Time for all work without dependencies, with the best distribution over the workers."""

    @property
    def best_s(self) -> float:
        """The larger and therefore better bound."""
        return max(self.critical_path_s, self.area_s)

    def _repr_html_(self) -> str:
        """Return a summary for notebooks."""
        from tasksim.base.notebook import html_summary

        named = (("critical path", self.critical_path_s), ("area bound", self.area_s))
        return html_summary("Bounds", [(name, duration_text(value)) for name, value in named])

    def to_json(self) -> dict[str, float]:
        """Return the bounds by name, as :attr:`Run.bounds` keeps them."""
        return asdict(self)


def bounds(graph: TaskGraph, durations_s: ArrayLike, workers: ArrayLike) -> Bounds:
    """Return the critical path and the area bound of *graph*.

    Parameters
    ----------
    graph :
        The task graph.
    durations_s : (classes, tasks)
        Seconds of each task on each class of workers, infinite where it cannot run.
    workers : (classes,)
        Workers per class.

    Raises
    ------
    InputError
        If a task cannot run anywhere; the message names it.

    Notes
    -----
    For the area bound, tasks of one configuration form a group if their durations are equal.
    """
    expect(graph, TaskGraph, "graph")
    durations = _numbers(durations_s, "durations_s")
    expected = (_numbers(workers, "workers").size, len(graph))
    if durations.shape != expected:
        raise InputError(f"durations_s has shape {durations.shape}, expected {expected}")
    nowhere = ~np.isfinite(durations).any(axis=0)
    if nowhere.any():
        raise InputError(f"task {graph.label(int(np.argmax(nowhere)))} cannot run on any worker")
    with np.errstate(over="ignore"):
        total_s = durations.min(axis=0, initial=np.inf).sum()
    if np.isinf(total_s):
        raise InputError("the durations of the tasks add up to more than 1.8e308 s")
    best = durations.min(axis=0) if len(graph) else np.zeros(0)
    # Tasks of a configuration are one group; if durations differ within one, each task is its own.
    rows = [len(table) for table in graph.parameters]
    configuration = (np.cumsum([0, *rows])[:-1])[graph.kernel] + graph.row
    counts = np.bincount(configuration, minlength=sum(rows))
    first = np.zeros(len(counts), dtype=np.intp)
    # the last assignment wins: the first task
    first[configuration[::-1]] = np.arange(len(graph) - 1, -1, -1)
    groups, times_s = np.ones(len(graph)), durations.T
    if all(np.array_equal(times[first][configuration], times) for times in durations):
        groups = counts[counts > 0].astype(np.float64)
        times_s = durations[:, first[counts > 0]].T
    return Bounds(critical_path_bound(graph, best), area_bound(groups, times_s, workers))


def critical_path_bound(graph: TaskGraph, durations_s: ArrayLike) -> float:
    """Return the length of the longest path of *graph*, tasks weighted by *durations_s*."""
    from tasksim.graph.analysis import bottom_levels

    return float(bottom_levels(graph, np.asarray(durations_s, dtype=np.float64)).max(initial=0.0))


def area_bound(counts: ArrayLike, durations_s: ArrayLike, workers: ArrayLike) -> float:
    """Return the least time in which classes of workers can share independent tasks.

    Minimise *T* over ``n[g, c] >= 0`` with ``sum_c n[g, c] = counts[g]`` for each group of tasks
    and ``sum_g durations_s[g, c] n[g, c] <= workers[c] T`` for each class; tasks may be split
    between classes. :mod:`tasksim.run.areaprogram` solves the program; with one class of workers
    (classes of equal durations count as one) the solution is explicit.

    Parameters
    ----------
    counts : (groups,)
        Tasks per group.
    durations_s : (groups, classes)
        Seconds of a task of each group on each class, infinite where it cannot run.
    workers : (classes,)
        Workers per class.

    Raises
    ------
    InputError
        If the shapes do not fit, a value is negative or NaN, or a group cannot run anywhere.

    Examples
    --------
    Six tasks of 1 s on two workers of one class; then three of them can also run on a third worker
    that needs 3 s:

    >>> area_bound([6], [[1.0]], [2])
    3.0
    >>> round(area_bound([3, 3], [[1.0, 3.0], [1.0, float("inf")]], [2, 1]), 6)
    2.571429
    """
    n, d, w = map(_numbers, (counts, durations_s, workers), ("counts", "durations_s", "workers"))
    if n.ndim != 1 or w.ndim != 1 or d.shape != (len(n), len(w)):
        raise InputError(
            f"durations_s has shape {d.shape}, expected {(n.size, w.size)} for {n.size} groups "
            f"and {w.size} classes"
        )
    for name, values in (("counts", n), ("durations_s", d), ("workers", w)):
        if not (values >= 0).all():
            raise InputError(f"{name} has a negative value or NaN")
    present = n > 0
    n, d, w = n[present], d[present][:, w > 0], w[w > 0]
    nowhere = ~np.isfinite(d).any(axis=1)
    if nowhere.any():
        raise InputError(
            f"tasks of group {np.flatnonzero(present)[nowhere][0]} cannot run anywhere"
        )
    # Classes of equal durations count as one; classes without workers as none.
    seen: dict[bytes, int] = {}
    index = [seen.setdefault(d[:, c].tobytes(), len(seen)) for c in range(len(w))]
    d = d[:, [index.index(c) for c in range(len(seen))]]
    w = np.bincount(index, w).astype(np.float64)
    if not len(n):
        return 0.0
    if len(w) == 1:
        return float(n @ d[:, 0] / w[0])
    from tasksim.run.areaprogram import area_program

    return area_program(n[:, None] * d, w)


def _numbers(values: ArrayLike, name: str) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}: {error}") from None
