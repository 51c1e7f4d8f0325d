"""Paths through the schedule of a run: the longest by any cost, and the slack of each task.

The schedule is a directed acyclic graph: a task comes after the tasks that it depends on and after
the previous task of its worker. The practical critical path (:mod:`tasksim.run.critical`) is one
path through it, the one that the makespan waited for. The path with the most communication, or the
most operations, may be another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tasksim.base.errors import InputError, expect, unknown
from tasksim.run.critical import previous_on_worker
from tasksim.run.record import Run
from tasksim.run.taskcosts import task_costs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["PATH_COSTS", "LongestPath", "longest_path", "schedule_path", "slack_s"]

PATH_COSTS: Final = ("time", "synchronisations", "words", "flop")
"""Costs of a task by which paths are compared: its duration, and those of the bulk-synchronous
model."""


class LongestPath(NamedTuple):
    """A path through a schedule whose cost no other path exceeds.

    Attributes
    ----------
    cost : float
        Sum of the costs of its tasks.
    tasks : list of int
        Its tasks, the first to run first; those that cost something.
    """

    cost: float
    tasks: list[int]


def longest_path(run: Run, graph: TaskGraph, by: str = "time") -> LongestPath:
    """Return the path through the schedule of *run* that costs most.

    Parameters
    ----------
    run : Run
        A run, simulated or native.
    graph : TaskGraph
        Its graph.
    by : {"time", "synchronisations", "words", "flop"}
        Cost of a task: its duration in seconds; 1 if it depends on a task of another worker; the
        words that it reads and another worker wrote last; its operations.

    Raises
    ------
    InputError
        If the cost is unknown, the graph is not that of the run, or a task's cost is not known.

    See Also
    --------
    practical_critical_path : The path that the makespan waited for, with its waits.

    Examples
    --------
    >>> import tasksim
    >>> seconds = {"potrf": 1.0, "trsm": 3.0, "syrk": 3.0, "gemm": 6.0}
    >>> graph = tasksim.generate("cholesky", tiles=4)
    >>> run = tasksim.simulate(graph, workers=2, durations=seconds)
    >>> [longest_path(run, graph, by).cost for by in ("time", "synchronisations")]
    [38.0, 6.0]
    """
    expect(run, Run, "run")
    if by not in PATH_COSTS:
        raise unknown("cost", by, PATH_COSTS)
    weights = run.tasks.duration_s if by == "time" else task_costs(run, graph)[by]
    if np.isnan(weights).any():
        task = int(np.flatnonzero(np.isnan(weights))[0])
        raise InputError(f"{by}: not known of {graph.label(task)}")
    return schedule_path(run, graph, weights)


def schedule_path(run: Run, graph: TaskGraph, weights: ArrayLike) -> LongestPath:
    """Return the path through the schedule of *run* with the largest sum of *weights*.

    *weights* are not negative, one per task.
    """
    cost = np.asarray(weights, dtype=np.float64)
    total, before = cost.tolist(), [-1] * len(graph)
    best = [0.0] * len(graph)
    for task, later in _edges(run, graph):
        total[task] += best[task]
        for other in later:
            if total[task] > best[other]:
                best[other], before[other] = total[task], task
    if not total:
        return LongestPath(0.0, [])
    task = int(np.argmax(total))
    length, path = total[task], []
    while task >= 0:
        if cost[task] > 0:
            path.append(task)
        task = before[task]
    return LongestPath(length, path[::-1])


def slack_s(run: Run, graph: TaskGraph) -> NDArray[np.float64]:
    """Return by how much each task could end later without a later end of the run, in seconds.

    Each worker keeps its order of tasks, and each other task its duration. Time that passes
    between two tasks for copies, messages or the runtime counts as slack, too.

    Parameters
    ----------
    run : Run
        A run, simulated or native.
    graph : TaskGraph
        Its graph.

    Raises
    ------
    InputError
        If the graph is not that of the run.

    See Also
    --------
    longest_path : The path that has none, by time.

    Examples
    --------
    >>> import tasksim
    >>> graph = tasksim.generate("fork-join", width=3, duration=1.0)
    >>> run = tasksim.simulate(graph, workers=2)
    >>> slack_s(run, graph).tolist()
    [0.0, 1.0, 0.0, 0.0, 0.0]
    """
    expect(run, Run, "run")
    start, end = run.tasks.start_s.tolist(), run.tasks.end_s.tolist()
    found = (run.makespan_s - run.tasks.end_s).tolist()
    for task, later in reversed(list(_edges(run, graph))):
        for other in later:
            found[task] = min(found[task], start[other] - end[task] + found[other])
    return np.maximum(np.array(found, dtype=np.float64), 0.0)


def _edges(run: Run, graph: TaskGraph) -> Iterator[tuple[int, list[int]]]:
    """Yield each task, in an order of the schedule, and the tasks that come right after it."""
    tasks: Any = run.tasks
    if len(tasks) != len(graph):
        raise InputError(f"the run has {len(tasks)} tasks, graph {graph.name} {len(graph)}")
    previous = previous_on_worker(tasks)
    following = np.full(len(graph), -1, dtype=np.int64)
    behind = np.flatnonzero(previous >= 0)
    following[previous[behind]] = behind
    successors, pointer = graph.successors.tolist(), graph.successor_ptr.tolist()
    after = following.tolist()
    # Ties of tasks without duration are as in previous_on_worker.
    order = np.lexsort((tasks.task, tasks.ready_s, tasks.end_s, tasks.start_s))
    for task in order.tolist():
        later = successors[pointer[task] : pointer[task + 1]]
        yield task, [*later, after[task]] if after[task] >= 0 else later
