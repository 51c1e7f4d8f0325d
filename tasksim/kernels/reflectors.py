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
"""Map from a kernel to the kernel that applies its Q, the indices of its accesses to V and T, and
those whose tile rows give the rows that Q applies to."""


def apply_q(
    graph: TaskGraph, tiles: Tiles, x: NDArray[np.float64], together: Together = ALONE
) -> NDArray[Any]:
    """Return Q *x* for the Q that the geqrt and tpqrt tasks of *graph* left in *tiles*.

    Each of these tasks made one factor of Q = Q₁ Q₂ ..., so the factors are applied from last to
    first. The process that executed a task applies its factor, and processes pass rows of the
    vector on to each other.

    Parameters
    ----------
    graph, tiles
        The graph, and the data after all its tasks.
    x
        float64 [tile rows, tile size], the same on all processes.
    together
        All processes with parts of the data.

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
    """The rows of a vector, each at the process that changed it last; at first all have them.

    All processes visit the same rows in the same order, so that they need no requests.
    """

    def __init__(self, rows: NDArray[Any], together: Together) -> None:
        self._rows, self._together = rows, together
        self._holder: list[int | None] = [None] * len(rows)

    def are_here(self, rows: list[int], needed_at: int) -> bool:
        """Bring *rows* to the process *needed_at*; return whether this process is the one."""
        for row in rows:
            holder = self._holder[row]
            if holder is not None and holder != needed_at:
                self._together.pass_on(self._rows[row], holder, needed_at)
            self._holder[row] = needed_at
        return needed_at == self._together.rank

    def gathered(self) -> NDArray[Any]:
        """Return all rows with their latest values."""
        mine = self._together.rank
        for row, holder in enumerate(self._holder):
            if (holder or 0) != mine:  # rank 0 has the rows that no process changed
                self._rows[row] = 0.0
        return self._together.total(self._rows)


def _untransposed(
    name: str, parameters: dict[str, float], tiles: Tiles
) -> tuple[PreparedCall, Workspace]:
    """Return the call that applies Q, not its transpose, to one column, and its workspace."""
    kernel = KERNELS[name]
    arguments = tuple("'N'" if item == "'T'" else item for item in kernel.arguments)
    sizes = kernel.sizes({**parameters, "n": 1, "k": parameters["n"]})
    workspace = Workspace(kernel.work_elements(sizes), tiles.precision)
    return PreparedCall(replace(kernel, arguments=arguments), sizes, tiles.precision), workspace
