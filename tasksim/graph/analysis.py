"""Levels, critical path and width of task graphs.

There is one duration per task, in seconds (or any other unit, which results share). A wrong number
of durations, and a negative or NaN one, raises :exc:`InputError`. Tasks are numbered topologically,
so one pass finds every longest path in time linear in tasks and dependencies: over blocks of
independent tasks if these are long, or else over plain lists.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.graph.csr import Int32, Int64, transpose

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from tasksim.graph.taskgraph import TaskGraph

__all__ = [
    "bottom_levels",
    "critical_path",
    "levels",
    "predecessors",
    "sources",
    "top_levels",
    "width",
    "work",
]

MIN_BLOCK_TASKS: Final = 12
"""Mean number of tasks per block from which whole blocks are faster than single tasks: NumPy's
calls for a block take as long as this many tasks of three successors in Python (measured)."""


def bottom_levels(graph: TaskGraph, durations_s: ArrayLike) -> NDArray[np.float64]:
    """Return the bottom level of every task: the longest path from its start to the end.

    The duration of the task itself counts. Also known as upward rank without communication
    (H. Topcuoglu, S. Hariri, M.-Y. Wu, IEEE TPDS 13(3), 2002).

    Parameters
    ----------
    graph
        The task graph.
    durations_s
        Duration of every task, in seconds.

    Returns
    -------
    float64 [tasks]

    Raises
    ------
    InputError
        If there is not one duration per task, or one is negative or NaN.

    Examples
    --------
    >>> from tasksim.graph.builder import GraphBuilder
    >>> g = GraphBuilder("path")
    >>> first = g.insert("task")
    >>> second = g.insert("task", after=[first])
    >>> bottom_levels(g.build(), [2.0, 3.0]).tolist()
    [5.0, 3.0]
    """
    durations = _checked(graph, durations_s)
    limits = _independent_blocks(graph)
    if len(graph) < MIN_BLOCK_TASKS * (len(limits) - 1):
        return _levels_task_by_task(graph, durations)
    level = durations.copy()
    before = np.flatnonzero(
        np.diff(graph.successor_ptr)
    )  # the levels of all others are their durations
    begins = graph.successor_ptr[before]
    places = np.searchsorted(before, limits).tolist()
    ends = np.append(begins, graph.edges)[places].tolist()
    for block in range(len(places) - 2, -1, -1):
        first, last = places[block], places[block + 1]
        if first < last:
            after = level[graph.successors[ends[block] : ends[block + 1]]]
            longest = np.maximum.reduceat(after, begins[first:last] - ends[block])
            level[before[first:last]] += longest
    return level


def _independent_blocks(graph: TaskGraph) -> list[int]:
    """Return the bounds of blocks of consecutive, independent tasks.

    They are as long as possible, from the last task on.
    """
    tasks = len(graph)
    before = np.flatnonzero(np.diff(graph.successor_ptr))
    # Per task the last one whose first successor it is; then the last one whose first successor is
    # it or an earlier one: a block that ends with this task begins after that.
    last = np.full(tasks + 1, -1, dtype=np.int64)
    last[graph.successors[graph.successor_ptr[before]]] = before
    begins: list[int] = (np.maximum.accumulate(last) + 1).tolist()
    limits, limit = [tasks], tasks
    while limit:
        limit = begins[limit - 1]
        limits.append(limit)
    return limits[::-1]


def _levels_task_by_task(graph: TaskGraph, durations: NDArray[np.float64]) -> NDArray[np.float64]:
    level: list[float] = durations.tolist()
    successors = graph.successors.tolist()
    end = len(successors)
    for task, begin in zip(
        range(len(graph) - 1, -1, -1), graph.successor_ptr[-2::-1].tolist(), strict=True
    ):
        if begin < end:
            level[task] += max([level[after] for after in successors[begin:end]])
            end = begin
    return np.array(level, dtype=np.float64)


def top_levels(graph: TaskGraph, durations_s: ArrayLike) -> NDArray[np.float64]:
    """Return the top level of every task: the longest path from the beginning to its start.

    The duration of the task itself does not count, so this is its earliest start. In other respects
    as :func:`bottom_levels`.
    """
    durations: list[float] = _checked(graph, durations_s).tolist()
    level = [0.0] * len(durations)
    successors = graph.successors.tolist()
    bounds = pairwise(graph.successor_ptr.tolist())
    for task, (begin, end) in enumerate(bounds):
        done = level[task] + durations[task]
        for after in successors[begin:end]:
            if done > level[after]:
                level[after] = done
    return np.array(level, dtype=np.float64)


def critical_path(graph: TaskGraph, durations_s: ArrayLike) -> tuple[float, list[int]]:
    """Return the length of a longest path, and its tasks from first to last.

    No schedule on any number of workers is shorter. Among paths of equal length, the one with the
    smallest task numbers is returned, compared from the first on.

    Returns
    -------
    length : float
        Length in seconds; 0 for a graph without tasks.
    tasks : list of int
    """
    level = bottom_levels(graph, durations_s)
    if not len(level):
        return 0.0, []
    beginnings = sources(graph)
    task = int(beginnings[level[beginnings].argmax()])
    path = [task]
    while after := graph.successors_of(task):
        # argmax takes the first of several maxima: the smallest number.
        task = after[int(level[after].argmax())]
        path.append(task)
    return float(level[path[0]]), path


def work(graph: TaskGraph, durations_s: ArrayLike) -> float:
    """Return the sum of all durations: the makespan on one worker, in seconds."""
    return float(_checked(graph, durations_s).sum())


def levels(graph: TaskGraph) -> Int64:
    """Return the depth of every task: the largest number of tasks on a path that leads to it.

    Returns
    -------
    int64 [tasks]
        0 for tasks without predecessors.
    """
    return top_levels(graph, np.ones(len(graph))).astype(np.int64)


def width(graph: TaskGraph) -> int:
    """Return the number of tasks of the largest level.

    This many tasks can run at once. The largest set of independent tasks may be larger, as it need
    not be a level.
    """
    return int(np.bincount(levels(graph)).max()) if len(graph) else 0


def sources(graph: TaskGraph) -> Int64:
    """Return the tasks without predecessors, ascending."""
    return np.flatnonzero(graph.predecessor_count == 0)


def predecessors(graph: TaskGraph) -> tuple[Int64, Int32]:
    """Return the predecessors of all tasks as pointers and indices.

    Those of task *i* are ``indices[pointers[i]:pointers[i + 1]]``, ascending.
    """
    return transpose(graph.successor_ptr, graph.successors, len(graph))


def _checked(graph: TaskGraph, durations_s: ArrayLike) -> NDArray[np.float64]:
    durations = np.asarray(durations_s, dtype=np.float64)
    if durations.shape != (len(graph),):
        raise InputError(
            f"durations of shape {durations.shape} for {len(graph)} tasks; legal: one per task"
        )
    bad = ~(durations >= 0)
    if bad.any():
        task = int(bad.argmax())
        raise InputError(f"{graph.label(task)}: duration is {durations[task]:g}; legal: 0 or more")
    return durations
