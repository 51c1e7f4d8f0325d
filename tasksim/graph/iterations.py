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
    """Return the iteration *k* of each task, -1 where there is none; None: of no task is it known.

    A parameter ``iteration`` says it. Else it is read off the tiles that a task accesses: the
    least of their rows and columns, which in right-looking factorisations is the *k* of the panel
    that the task makes or applies.

    >>> from tasksim import generate
    >>> iterations(generate("cholesky", tiles=3)).tolist()
    [0, 0, 0, 0, 0, 0, 1, 1, 1, 2]
    """
    given = _given(graph)
    return _of_tiles(graph) if given is None else given


def _given(graph: TaskGraph) -> NDArray[np.int64] | None:
    """Return what parameters say."""
    found = np.full(len(graph), -1, dtype=np.int64)
    known = False
    for kernel, names in enumerate(graph.parameter_names):
        column = next((names.index(name) for name in NAMES if name in names), None)
        if column is not None:
            tasks, known = graph.kernel == kernel, True
            values = graph.parameters[kernel][:, column]
            found[tasks] = np.where(np.isfinite(values), values, -1)[graph.row[tasks]]
    return found if known else None


def _of_tiles(graph: TaskGraph) -> NDArray[np.int64] | None:
    """Return the least index of the tiles that each task accesses."""
    none = np.iinfo(np.int64).max
    of_handle = np.full(graph.handles, none)
    for block in graph.handle_blocks:
        if block.columns:
            row, column = np.divmod(np.arange(block.end - block.first), block.columns)
            of_handle[block.first : block.end] = np.minimum(row, column)
    has_access = np.diff(graph.access_ptr) > 0
    found = np.full(len(graph), none)
    if has_access.any():
        indices = of_handle[graph.access_handle]
        found[has_access] = np.minimum.reduceat(indices, graph.access_ptr[:-1][has_access])
    known = found < none
    return np.where(known, found, -1) if known.any() else None
