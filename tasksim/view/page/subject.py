"""Subjects of a page: runs, each with what its graph and its models say of its tasks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.errors import CheckFailed, InputError, TasksimError
from tasksim.run.critical import practical_critical_path
from tasksim.view.rungraph import graph_of_run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.run.record import Run

__all__ = ["Subject", "critical_tasks", "subject_of"]

_EXPECTED_BY_MODEL = "the kernel models"
_EXPECTED_BY_MEDIAN = "the median of its kind"


@dataclass(frozen=True, eq=False)
class Subject:
    """A run to be shown.

    Attributes
    ----------
    run : Run
    name : str
        What the page calls it.
    graph : TaskGraph or None
        Its graph; None: it cannot be made again, and only what released each task is known.
    expected_s : ndarray, float64 [tasks]
        What each task would take where it ran; NaN: nothing says it.
    expected_by : str
        What says it: the kernel models of the run, or the median of tasks of its kind.
    """

    run: Run
    name: str
    graph: TaskGraph | None
    expected_s: NDArray[np.float64]
    expected_by: str


def subject_of(run: Run, name: str, *, trust: bool = False) -> Subject:
    """Return *run* with what can be found out about it.

    Parameters
    ----------
    run : Run
    name : str
        What to call it.
    trust : bool, default False
        Whether a generator that the run names as ``MODULE:NAME`` is imported.

    Raises
    ------
    InputError
        If times of tasks are not finite.
    """
    for column in ("submitted_s", "ready_s", "start_s", "end_s"):
        if not np.isfinite(getattr(run.tasks, column)).all():
            raise InputError(f"run {name}: {column} of its tasks is not finite")
    graph = graph_of_run(run, trust=trust)
    modelled = None if graph is None else _modelled_s(run, graph, trust=trust)
    if modelled is not None:
        return Subject(run, name, graph, modelled, _EXPECTED_BY_MODEL)
    return Subject(run, name, graph, _median_s(run, graph), _EXPECTED_BY_MEDIAN)


def critical_tasks(run: Run) -> NDArray[np.int64]:
    """Return the practical critical path, first task first; nothing of impossible runs."""
    try:
        steps = practical_critical_path(run).steps
    except (CheckFailed, InputError):
        return np.zeros(0, dtype=np.int64)
    return np.array([step.task for step in steps], dtype=np.int64)


def _modelled_s(run: Run, graph: TaskGraph, *, trust: bool) -> NDArray[np.float64] | None:
    """Return the means of the kernel models that the run names, if they are still there."""
    from tasksim.engine.durations import durations
    from tasksim.scenario.document import decode
    from tasksim.scenario.resolved import Resolver
    from tasksim.scenario.scenario import Scenario

    try:
        recorded = decode(Scenario, run.config, "run", trust=trust)
        # With the graph that is there already: to make one of a million tasks takes seconds.
        scenario = replace(recorded, graph=graph, settings=(), clock="simulated")
        found = Resolver().resolve(scenario)
        if found.models is None:
            return None
        of_classes = durations(graph, found.platform, found.models)
    except TasksimError:
        return None
    return _on_its_worker(run, found.platform, of_classes)


def _on_its_worker(
    run: Run, platform: Any, of_classes: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """Return what each task takes in the class of its worker; None of other workers."""
    class_of = np.full(len(run.workers), -1)
    for index, group in enumerate(platform.classes):
        workers = [worker for worker in group.workers if worker < len(run.workers)]
        class_of[workers] = index
    of_task = class_of[run.tasks.worker]
    if (of_task < 0).any():
        return None
    expected = of_classes[of_task, np.arange(len(run))]
    return np.where(np.isfinite(expected), expected, np.nan)


def _median_s(run: Run, graph: TaskGraph | None) -> NDArray[np.float64]:
    """Return per task the median of those of the same configuration and architecture."""
    names = [worker.architecture for worker in run.workers]
    _, architecture = np.unique(names, return_inverse=True)
    kinds = [run.tasks.kernel.astype(np.int64), architecture[run.tasks.worker]]
    if graph is not None:
        kinds.append(graph.row.astype(np.int64))
    duration = run.tasks.duration_s
    order = np.lexsort((duration, *kinds))
    changed = np.zeros(max(len(order) - 1, 0), dtype=bool)
    for kind in kinds:
        changed |= np.diff(kind[order]) != 0
    first = np.concatenate(([0], np.flatnonzero(changed) + 1, [len(order)]))
    counts = np.diff(first)
    sorted_s = duration[order]
    low, high = first[:-1] + (counts - 1) // 2, first[:-1] + counts // 2
    expected = np.empty(len(order))
    if len(order):
        expected[order] = np.repeat((sorted_s[low] + sorted_s[high]) / 2, counts)
    return expected
