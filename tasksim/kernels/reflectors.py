"""The Q of a tiled QR factorisation, applied to a vector."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tasksim.kernels.buffer import Buffer
from tasksim.kernels.dense import KERNELS, PreparedCall
from tasksim.kernels.together import ALONE
from tasksim.kernels.workspace import Workspace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.kernels.tiles import Tiles
    from tasksim.kernels.together import Together

__all__ = ["apply_q"]

_FACTORS = {"geqrt": ("gemqrt", (0, 2), (0,)), "tpqrt": ("tpmqrt", (1, 2), (0, 1))}
"""Kernel -> what applies its Q; which of its accesses are V and T; which, by their tile rows,
say what Q is applied to."""


def apply_q(
    graph: TaskGraph, tiles: Tiles, x: NDArray[np.float64], together: Together = ALONE
) -> NDArray[Any]:
    """Return Q *x*, where Q is what the geqrt and tpqrt tasks of *graph* left in *tiles*.

    Each of these tasks made one factor of Q = Q₁ Q₂ ..., so they are applied last to first, each by
    the process that executed it: rows of the vector are passed on from one to the next.

    Parameters
    ----------
    graph, tiles
        The graph, and the data after all its tasks.
    x
        float64 [tile rows, tile size]; the same for all.
    together
        All processes that have parts of the data.

    Returns
    -------
    array of the shape of *x*, in the precision of the tiles
    """
    size_bytes = tiles.precision.size_bytes
    buffer = Buffer(x.size * size_bytes)
    y = buffer.array(0, x.shape[::-1], tiles.precision.dtype).T
    y[:] = x
    references = tiles.references()
    rows_of_x = _TravellingRows(y, together)
    for task in reversed(range(len(graph))):
        if graph.kernel_of(task) in _FACTORS:
            name, factor, onto = _FACTORS[graph.kernel_of(task)]
            handles = [handle for handle, _ in graph.accesses_of(task)]
            rows = [(handles[at] - tiles.matrix.first) // tiles.columns for at in onto]
            if not rows_of_x.are_here(rows, together.executor(task)):
                continue
            vectors = [buffer.reference(row * tiles.tile_size * size_bytes) for row in rows]
            prepared, workspace = _untransposed(name, graph.parameters_of(task), tiles)
            arguments = prepared.arguments([*(references[handles[at]] for at in factor), *vectors])
            prepared.routine(*arguments, *workspace.tail(prepared.tail))
    return rows_of_x.gathered()


class _TravellingRows:
    """The rows of a vector, each at the process that changed it last; at first they are at all.

    All processes go through the same rows in the same order, so nothing has to be asked for.
    """

    def __init__(self, rows: NDArray[Any], together: Together) -> None:
        self._rows, self._together = rows, together
        self._holder: list[int | None] = [None] * len(rows)

    def are_here(self, rows: list[int], needed_at: int) -> bool:
        """Bring these *rows* to where they are needed; return whether that is here."""
        for row in rows:
            holder = self._holder[row]
            if holder is not None and holder != needed_at:
                self._together.pass_on(self._rows[row], holder, needed_at)
            self._holder[row] = needed_at
        return needed_at == self._together.rank

    def gathered(self) -> NDArray[Any]:
        """Return all rows as they are where they were changed last."""
        mine = self._together.rank
        for row, holder in enumerate(self._holder):
            if (holder or 0) != mine:
                self._rows[row] = 0.0
        return self._together.total(self._rows)


def _untransposed(
    name: str, parameters: dict[str, float], tiles: Tiles
) -> tuple[PreparedCall, Workspace]:
    """Return the kernel that applies Q, instead of its transpose, to one column."""
    kernel = KERNELS[name]
    arguments = tuple("'N'" if item == "'T'" else item for item in kernel.arguments)
    sizes = kernel.sizes({**parameters, "n": 1, "k": parameters["n"]})
    workspace = Workspace(kernel.work_elements(sizes), tiles.precision)
    return PreparedCall(replace(kernel, arguments=arguments), sizes, tiles.precision), workspace
