"""Sweeps over a grid in the order of its points (after LU of the NAS benchmarks)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.applications.application import application
from tasksim.applications.flow import TaskFlow  # noqa: TC001 - read at run time
from tasksim.applications.foreign import compiled_in
from tasksim.applications.kernel import kernel
from tasksim.graph.access_codes import RW, R, W
from tasksim.graph.apps.parameters import Count  # noqa: TC001 - read at run time

if TYPE_CHECKING:
    from tasksim.applications.store import Results

__all__ = ["ssor"]

NEIGHBOUR_WEIGHT = 0.25
"""Weight of the points above and to the left, as in the loop."""
MAX_DIFFERENCE = 1e-12
"""Largest relative difference from the same sweeps over the whole grid."""

SWEEP = kernel(
    compiled_in("tasksim.kernels.nas", "sweep"), name="sweep",
    operands={"u": RW, "below": W, "right": W, "above": R, "left": R},
    arguments="u below right above left below.shape0:int64 plane:int64",
    parameters=lambda below: {"n": below.shape[0]},
)  # fmt: skip


@application("ssor")
def ssor(
    g: TaskFlow, block_rows: Count, block_columns: Count, block_size: Count = 64,
    planes: Count = 8, iterations: Count = 4,
) -> None:  # fmt: skip
    """Sweeps in which each point waits for two neighbours (after LU of the NAS benchmarks).

    A block's plane is swept after those above it and to its left: a wave goes over the blocks,
    plane after plane, with many small messages.

    Parameters
    ----------
    block_rows, block_columns
        Number of rows and of columns of blocks.
    block_size
        Number of points in a row, and in a column, of a block's plane.
    planes
        Number of planes.
    iterations
        Number of sweeps.
    """
    n, shape = block_size, (block_rows, block_columns)

    def initial(rng: np.random.Generator, i: int, j: int) -> Any:
        del i, j
        return rng.random((planes * n, n))

    u = g.tiles("u", *shape, (planes * n, n), initial=initial)
    below, right = (
        [g.tiles(f"{name}{plane}", *shape, (n,)) for plane in range(planes)]
        for name in ("below", "right")
    )
    border = g.tiles("border", *shape, (n,))
    g.announce(block_rows * block_columns * planes * iterations)
    for _ in range(iterations):
        for plane in range(planes):
            for i in range(block_rows):
                for j in range(block_columns):
                    above = below[plane][i - 1, j] if i else border[i, j]
                    left = right[plane][i, j - 1] if j else border[i, j]
                    own = below[plane][i, j], right[plane][i, j]
                    g.insert(SWEEP, u[i, j], *own, above, left, plane=plane)

    def error(results: Results) -> float:
        got, exact = (_planes(tiles, planes) for tiles in (results[u], results.initial(u)))
        for _ in range(iterations):
            _swept(exact)
        return float((np.abs(got - exact) / np.abs(exact)).max())

    g.check(
        error, tolerance=MAX_DIFFERENCE, what="largest difference from sweeps over the whole grid"
    )


def _planes(tiles: Any, planes: int) -> Any:
    """Return the planes of the grid."""
    return np.stack([
        np.block([[block.reshape(planes, -1, block.shape[1])[plane] for block in row]
                  for row in tiles])
        for plane in range(planes)
    ])  # fmt: skip


def _swept(u: Any) -> None:
    """Sweep all planes diagonal by diagonal; the points of a diagonal are independent."""
    rows, columns = u.shape[1:]
    for diagonal in range(rows + columns - 1):
        i = np.arange(max(0, diagonal - columns + 1), min(rows, diagonal + 1))
        j = diagonal - i
        above = np.where(i > 0, u[:, i - 1, j], 0.0)
        left = np.where(j > 0, u[:, i, j - 1], 0.0)
        u[:, i, j] += NEIGHBOUR_WEIGHT * (above + left)
