"""Iterations of tasks in algorithms on tiled matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["iterations"]

NAMES: Final = ("iteration", "Iteration")
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
    found = np.full(len(graph), -1, dtype=np.int64)
    known = False
    for kernel, names in enumerate(graph.parameter_names):
        column = next((names.index(name) for name in NAMES if name in names), None)
        if column is not None:
            tasks, known = graph.kernel == kernel, True
            values = graph.parameters[kernel][:, column]
            found[tasks] = np.where(np.isfinite(values), values, -1)[graph.row[tasks]]
    if known:
        return found
    none = np.iinfo(np.int64).max
    of_handle = np.full(graph.handles, none)
    for block in graph.handle_blocks:
        if block.columns:
            row, column_of = np.divmod(np.arange(block.end - block.first), block.columns)
            of_handle[block.first : block.end] = np.minimum(row, column_of)
    has_access = np.diff(graph.access_ptr) > 0
    found = np.full(len(graph), none)
    if has_access.any():
        indices = of_handle[graph.access_handle]
        found[has_access] = np.minimum.reduceat(indices, graph.access_ptr[:-1][has_access])
    return np.where(found < none, found, -1) if (found < none).any() else None
