"""Multigrid on a square in blocks (after MG of the NAS benchmarks)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.applications.application import application
from tasksim.applications.flow import TaskFlow  # noqa: TC001 - read at run time
from tasksim.applications.foreign import compiled_in
from tasksim.applications.kernel import kernel
from tasksim.applications.nas.halos import Halos, relaxed, whole_grid
from tasksim.graph.access_codes import RW, R, W
from tasksim.graph.apps.parameters import Count  # noqa: TC001 - read at run time

if TYPE_CHECKING:
    from tasksim.applications.store import Results

__all__ = ["mg"]

NAS_LOOPS = "tasksim.kernels.nas"
MIN_BLOCK_SIZE = 4
"""Smallest number of points in a row of a block: coarsening ends there."""
MAX_DIFFERENCE = 1e-12
"""Largest difference from the same steps over the whole grid, whose values are up to 1 or 2."""

RESTRICT = kernel(
    compiled_in(NAS_LOOPS, "restrict"), name="restrict", operands={"coarse": W, "fine": R},
    arguments="coarse fine coarse.shape0:int64", parameters=lambda coarse: {"n": coarse.shape[0]},
)  # fmt: skip
PROLONG = kernel(
    compiled_in(NAS_LOOPS, "prolong"), name="prolong", operands={"fine": RW, "coarse": R},
    arguments="fine coarse coarse.shape0:int64", parameters=lambda coarse: {"n": coarse.shape[0]},
)  # fmt: skip


@application("mg")
def mg(
    g: TaskFlow, block_rows: Count, block_columns: Count, block_size: Count = 256,
    iterations: Count = 4,
) -> None:  # fmt: skip
    """V-cycles over coarser and coarser grids, in blocks (after MG of the NAS benchmarks).

    Each level is relaxed with the edges of the neighbours, and coarsened by half until blocks have
    few points. Then each level is added to the finer one, which is relaxed again. Messages shrink
    with the levels.

    Parameters
    ----------
    block_rows, block_columns
        Number of rows and of columns of blocks.
    block_size
        Number of points in a row, and in a column, of a block of the finest level.
    iterations
        Number of cycles.
    """
    sizes = [block_size]
    while sizes[-1] % 2 == 0 and sizes[-1] // 2 >= MIN_BLOCK_SIZE:
        sizes.append(sizes[-1] // 2)
    shape = block_rows, block_columns

    def initial(rng: np.random.Generator, i: int, j: int) -> Any:
        del i, j
        return rng.random((block_size, block_size))

    x = [
        g.tiles(f"x{level}", *shape, (n, n), initial=None if level else initial)
        for level, n in enumerate(sizes)
    ]
    y = [g.tiles(f"y{level}", *shape, (n, n)) for level, n in enumerate(sizes)]
    halos = [Halos(g, f"level{level}", *shape, n) for level, n in enumerate(sizes)]
    blocks, last = halos[0].blocks, len(sizes) - 1
    g.announce(((last + 2) * halos[0].tasks + 2 * last * len(blocks)) * iterations)
    for _ in range(iterations):
        for level in range(last):
            halos[level].relax(x[level], y[level])
            for at in blocks:
                g.insert(RESTRICT, x[level + 1][at], y[level][at])
        halos[last].relax(x[last], y[last])
        for level in range(last - 1, -1, -1):
            for at in blocks:
                g.insert(PROLONG, y[level][at], y[level + 1][at])
        halos[0].relax(y[0], x[0])

    def error(results: Results) -> float:
        exact = whole_grid(results.initial(x[0]))
        for _ in range(iterations):
            exact = _cycle(exact, last)
        return float(np.abs(whole_grid(results[x[0]]) - exact).max())

    g.check(
        error, tolerance=MAX_DIFFERENCE, what="largest difference from cycles over the whole grid"
    )


def _cycle(x: Any, last: int) -> Any:
    """Return *x* after a cycle over *last* coarser levels."""
    finer = []
    for _ in range(last):
        finer.append(relaxed(x))
        rows, columns = finer[-1].shape
        x = finer[-1].reshape(rows // 2, 2, columns // 2, 2).mean(axis=(1, 3))
    x = relaxed(x)
    for y in reversed(finer):
        x = y + x.repeat(2, axis=0).repeat(2, axis=1)
    return relaxed(x)
