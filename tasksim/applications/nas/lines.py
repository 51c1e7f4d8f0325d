"""Systems along the lines of a grid, alternating directions (after BT of the NAS benchmarks)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.applications.application import application
from tasksim.applications.flow import TaskFlow  # noqa: TC001 - read at run time
from tasksim.applications.foreign import compiled_in
from tasksim.applications.kernel import kernel
from tasksim.applications.nas.halos import Halos, relaxed, whole_grid
from tasksim.graph.access_codes import RW, W
from tasksim.graph.apps.parameters import Count  # noqa: TC001 - read at run time

if TYPE_CHECKING:
    from tasksim.applications.store import Results

__all__ = ["adi"]

NAS_LOOPS = "tasksim.kernels.nas"
NEIGHBOUR_WEIGHT = 0.25
"""Weight of each neighbour on a line, as in the loops."""
MAX_DIFFERENCE = 1e-11
"""Largest difference from the same steps with matrices, of values up to 10."""

ROWS_SOLVED = kernel(
    compiled_in(NAS_LOOPS, "rows_solved"), name="rows_solved", operands={"x": RW, "work": W},
    arguments="x work x.shape0:int64", parameters=lambda x: {"n": x.shape[0]},
)  # fmt: skip
COLUMNS_SOLVED = kernel(
    compiled_in(NAS_LOOPS, "columns_solved"), name="columns_solved", operands={"x": RW, "work": W},
    arguments="x work x.shape0:int64", parameters=lambda x: {"n": x.shape[0]},
)  # fmt: skip


@application("adi")
def adi(
    g: TaskFlow, block_rows: Count, block_columns: Count, block_size: Count = 256,
    iterations: Count = 4,
) -> None:  # fmt: skip
    """Steps that solve along rows, then along columns, of blocks (after BT of the NAS benchmarks).

    Each direction begins with a stencil, for which edges go to the neighbours; then a tridiagonal
    system is solved along each line of each block.

    Parameters
    ----------
    block_rows, block_columns
        Number of rows and of columns of blocks.
    block_size
        Points in a row, and in a column, of a block.
    iterations
        Number of steps in both directions.
    """
    n, shape = block_size, (block_rows, block_columns)

    def initial(rng: np.random.Generator, i: int, j: int) -> Any:
        del i, j
        return rng.random((n, n))

    x, y = g.tiles("x", *shape, (n, n), initial=initial), g.tiles("y", *shape, (n, n))
    work = g.tiles("work", *shape, (n,))
    halos = Halos(g, "edge", *shape, n)
    g.announce((2 * halos.tasks + 2 * len(halos.blocks)) * iterations)
    for _ in range(iterations):
        halos.relax(x, y)
        for at in halos.blocks:
            g.insert(ROWS_SOLVED, y[at], work[at])
        halos.relax(y, x)
        for at in halos.blocks:
            g.insert(COLUMNS_SOLVED, x[at], work[at])

    def error(results: Results) -> float:
        exact = whole_grid(results.initial(x))
        line = np.linalg.inv(np.eye(n) - NEIGHBOUR_WEIGHT * (np.eye(n, k=1) + np.eye(n, k=-1)))
        over_rows = np.kron(np.eye(block_columns), line)
        over_columns = np.kron(np.eye(block_rows), line)
        for _ in range(iterations):
            exact = relaxed(exact) @ over_rows
            exact = over_columns @ relaxed(exact)
        return float(np.abs(whole_grid(results[x]) - exact).max())

    g.check(error, tolerance=MAX_DIFFERENCE, what="largest difference from steps with matrices")
