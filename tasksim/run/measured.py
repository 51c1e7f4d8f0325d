"""Measured durations of the tasks of a recorded run, in place of kernel models."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, NoReturn

import numpy as np

from tasksim.base.arguments import one_of
from tasksim.base.errors import InputError, option
from tasksim.graph.taskgraph import THREAD_START, WORKER_START, Binding

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tasksim.base.arrays import Bools, Floats, Ints
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform
    from tasksim.run.record import Run

__all__ = ["DURATION_WORDS", "Creations", "DurationWord", "MeasuredDurations"]

DurationWord = Literal["measured", "means", "alone"]
DURATION_WORDS: Final = ("measured", "means", "alone")
"""Durations to take from a recorded run: those of each task, means, or those without the time that
other programs took."""


class MeasuredDurations:
    """Durations of the tasks of a run, in place of kernel models, for the same graph.

    Parameters
    ----------
    run : Run
        The recorded run. If its workers shared cores, tasks get their durations alone.
    graph : TaskGraph
        The graph that was run.
    what : {"measured", "means", "alone"}, default "measured"
        ``measured``: on the architecture that executed it, a task takes its measured duration; on
        others, the mean of the tasks of its configuration (kernel and parameters) or, if there was
        none, of its kernel. ``means``: means everywhere. ``alone``: as ``measured``, less the time
        that other programs took (:mod:`tasksim.run.undisturbed`). The tasks of a kernel cannot run
        on an architecture that never ran one.
    speeds : mapping of str -> float, default {}
        Speeds of the run's workers by architecture, from its platform; 1 by default. On a
        platform with other speeds durations are scaled accordingly.

    Notes
    -----
    An OpenMP program that was recorded on one thread had no costs of creations, as its runtime
    executed each task at once. On a platform with more workers, what a task does between two
    creations takes longer by that platform's costs of a creation.

    The start of a thread of OpenMP, or of a worker of a pool, takes no time on a platform that has
    too few workers for it.

    See Also
    --------
    tasksim.simulate : Accepts an instance as *models*; ``durations="measured"`` creates one.

    Examples
    --------
    >>> import tasksim
    >>> graph = tasksim.generate("chain", length=3, duration=1.0)
    >>> run = tasksim.simulate(graph, workers=1)
    >>> measured = MeasuredDurations(run, graph)
    >>> tasksim.simulate(graph, workers=2, models=measured).makespan_s
    3.0
    """

    def __init__(
        self,
        run: Run,
        graph: TaskGraph,
        what: DurationWord = "measured",
        speeds: Mapping[str, float] | None = None,
    ) -> None:
        from tasksim.run.others import others_task_share
        from tasksim.run.sharedcores import own_core_s
        from tasksim.run.undisturbed import undisturbed_s

        one_of(what, DURATION_WORDS, "what")
        self.what = what
        self.others_share = 0.0 if what == "alone" else others_task_share(run)
        """Share of the durations in which other programs had the cores."""
        self._graph = graph
        self._speeds = dict(speeds or {})
        ran = run.tasks
        self._seconds = np.zeros(len(graph))
        self._seconds[ran.task] = undisturbed_s(run, graph) if what == "alone" else own_core_s(run)
        named = list(dict.fromkeys(worker.architecture for worker in run.workers))
        where = np.array([named.index(worker.architecture) for worker in run.workers], np.int64)
        self._where = np.zeros(len(graph), np.int64)
        self._where[ran.task] = where[ran.worker]
        self._rows = {name: self._row(number) for number, name in enumerate(named)}
        self._starts = _starts(run) if run.kind == "native" else {}
        self._of_one_thread = run.kind == "native" and len(run.workers) == 1

    def seconds(self, graph: TaskGraph, platform: Platform) -> Floats:
        """Return the duration of each task in each class of workers, shape (classes, tasks).

        Raises
        ------
        InputError
            If *graph* has other tasks than the graph that was run, or a task ran only on
            architectures that *platform* does not have.
        """
        if len(graph) != len(self._graph):
            raise InputError(
                f"the measured run has {len(self._graph)} tasks; graph {graph.name} has "
                f"{len(graph)}"
            )
        never = np.full(len(graph), np.inf)
        kinds = [group.architecture for group in platform.classes]
        rows = [
            self._rows.get(name, never)
            * (self._speeds.get(name, 1.0) / platform.compute_speed(name))
            for name in kinds
        ]
        table = np.array(rows)
        for row, name in zip(table, kinds, strict=True):
            count = sum(worker.architecture == name for worker in platform.workers)
            row[[task for task, worker in self._starts.get(name, ()) if worker >= count]] = 0.0
        nowhere = np.flatnonzero(np.isinf(table).all(axis=0))
        if len(nowhere):
            raise InputError(
                f"{graph.label(int(nowhere[0]))} ran on {', '.join(self._rows)} only; platform "
                f"{platform.name} has {', '.join(platform.architectures)}; for another number of "
                f"the run's own workers: {option('set', 'platform.workers.NAME.count=N')}"
            )
        creations = self.creations(graph, platform)
        if creations is not None:
            cost = platform.overheads
            weights = cost.creation_s + cost.dependence_s * creations.data
            table += np.bincount(creations.task, weights, len(graph) + 1)[: len(graph)]
        return table

    def creations(self, graph: TaskGraph, platform: Platform) -> Creations | None:
        """Return the creations of tasks whose costs *platform* adds; None if it adds none."""
        if not self._of_one_thread or len(platform.workers) < 2 or not len(graph.creator):
            return None
        after = np.full(len(graph) + 1, len(graph))
        later = np.flatnonzero(graph.continues >= 0)
        after[graph.continues[later]] = later
        created = np.flatnonzero((graph.creator >= 0) & (graph.binding != Binding.HELD))
        return Creations(after[graph.creator[created]], np.diff(graph.access_ptr)[created])

    def model(self, kernel: str, architecture: str) -> NoReturn:
        """Raise :exc:`InputError`: measured durations belong to tasks, not to kernels."""
        raise InputError(f"{kernel} on {architecture}: durations of a run are not a kernel model")

    def locality(self, kernel: str, architecture: str) -> None:
        """Return None: measured durations include the effect of locality."""

    def _row(self, architecture: int) -> Floats:
        """Return the duration of each task on an architecture; infinite where it is unknown."""
        here = self._where == architecture
        graph = self._graph
        width = max((len(table) for table in graph.parameters), default=0) + 1
        configuration = graph.kernel.astype(np.int64) * width + graph.row
        _, number = np.unique(configuration, return_inverse=True)
        row = _means(number, self._seconds, here)
        row = np.where(np.isinf(row), _means(graph.kernel, self._seconds, here), row)
        return np.where(here, self._seconds, row) if self.what != "means" else row


def _starts(run: Run) -> dict[str, list[tuple[int, int]]]:
    """Return per architecture the starts of workers: the task, and the number of the worker."""
    found: dict[str, list[tuple[int, int]]] = {}
    is_start = np.array([name in (WORKER_START, THREAD_START) for name in run.kernel_names])
    chosen = np.flatnonzero(is_start[run.tasks.kernel])
    if not len(chosen):
        return found
    number: list[int] = []
    count: Counter[str] = Counter()
    for worker in run.workers:
        number.append(count[worker.architecture])
        count[worker.architecture] += 1
    for task, worker in zip(run.tasks.task[chosen], run.tasks.worker[chosen], strict=True):
        kind = run.workers[worker].architecture
        found.setdefault(kind, []).append((int(task), number[worker]))
    return found


class Creations(NamedTuple):
    """Creations of OpenMP tasks, each of which prolongs the task that comes after it.

    Attributes
    ----------
    task : ndarray
        Per creation the task that comes after it; the number of tasks if none does.
    data : ndarray
        The number of data that the created task names.
    """

    task: Ints
    data: Ints


def _means(group: NDArray[np.integer], seconds: Floats, chosen: Bools) -> Floats:
    """Return, per task, the mean over *chosen* tasks of its group; infinite without any."""
    count = np.bincount(group[chosen], minlength=int(group.max(initial=-1)) + 1)
    total = np.bincount(group[chosen], weights=seconds[chosen], minlength=len(count))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(count > 0, total / count, np.inf)
    means: Floats = mean[group]
    return means
