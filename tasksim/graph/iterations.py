"""Iterations of tasks in algorithms on tiled matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.graph.taskgraph import task_parameter

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["iterations"]

ITERATION_PARAMETERS: Final = ("iteration", "Iteration")
"""Names of the parameter that holds the iteration."""


def iterations(graph: TaskGraph) -> NDArray[np.int64] | None:
    """Return the iteration *k* of each task, -1 where there is none; None if no task has one.

    It is the parameter ``iteration``, or else the smallest row or column of the tiles that a task
    accesses: in right-looking factorisations, this is the *k* of the panel that the task makes or
    applies.

    >>> from tasksim import generate
    >>> iterations(generate("cholesky", tiles=3)).tolist()
    [0, 0, 0, 0, 0, 0, 1, 1, 1, 2]
    """
    if any(name in names for names in graph.parameter_names for name in ITERATION_PARAMETERS):
        first, second = (task_parameter(graph, name) for name in ITERATION_PARAMETERS)
        found = np.where(np.isnan(first), second, first)
        return np.where(np.isfinite(found), found, -1).astype(np.int64)
    none = np.iinfo(np.int64).max
    of_handle = np.full(graph.handles, none)
    for block in graph.handle_blocks:
        if block.columns:
            row, column_of = np.divmod(np.arange(block.end - block.first), block.columns)
            of_handle[block.first : block.end] = np.minimum(row, column_of)
    has_access = np.diff(graph.access_ptr) > 0
    smallest = np.full(len(graph), none)
    if has_access.any():
        indices = of_handle[graph.access_handle]
        smallest[has_access] = np.minimum.reduceat(indices, graph.access_ptr[:-1][has_access])
    known = smallest < none
    return np.where(known, smallest, -1) if known.any() else None
