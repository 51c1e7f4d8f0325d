"""Fourier transforms of a square, with a transposition (after FT of the NAS benchmarks)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.applications.application import application
from tasksim.applications.flow import TaskFlow  # noqa: TC001 - read at run time
from tasksim.applications.foreign import compiled_in
from tasksim.applications.kernel import kernel
from tasksim.base.errors import GraphError
from tasksim.graph.access_codes import RW, R, W
from tasksim.graph.apps.parameters import Count  # noqa: TC001 - read at run time

if TYPE_CHECKING:
    from tasksim.applications.store import Results

__all__ = ["ft"]

NAS_LOOPS = "tasksim.kernels.nas"
MAX_DIFFERENCE = 1e-12
"""Largest difference from NumPy's transforms, of values up to 1."""


def _rows(x: Any) -> dict[str, float]:
    return {"rows": x.shape[0], "n": x.shape[1]}


FOURIER = kernel(
    compiled_in(NAS_LOOPS, "fourier"), name="fourier", operands={"x": RW},
    arguments="x x.shape0:int64 x.shape1:int64", parameters=_rows,
)  # fmt: skip
TAKE = kernel(
    compiled_in(NAS_LOOPS, "take"), name="take", operands={"piece": W, "x": R},
    arguments="piece x x.shape0:int64 x.shape1:int64 number:int64",
    parameters=lambda piece: {"rows": piece.shape[0]},
)  # fmt: skip
PUT = kernel(
    compiled_in(NAS_LOOPS, "put"), name="put", operands={"x": RW, "piece": R},
    arguments="x piece x.shape0:int64 x.shape1:int64 number:int64",
    parameters=lambda piece: {"rows": piece.shape[0]},
)  # fmt: skip


@application("ft")
def ft(g: TaskFlow, slabs: Count, slab_rows: Count = 64, iterations: Count = 1) -> None:
    """Fourier transforms of a square of complex numbers (after FT of the NAS benchmarks).

    Each slab transforms its rows; then pieces go from each slab to all others, which transpose
    the square; and rows are transformed again.

    Parameters
    ----------
    slabs
        The slabs of rows.
    slab_rows
        Rows of a slab; the number of all rows is a power of two.
    iterations
        Number of transforms, each of the last result.
    """
    n = slabs * slab_rows
    if n & (n - 1):
        raise GraphError(f"slabs={slabs} slab_rows={slab_rows}: {n} rows; legal: a power of two")

    def initial(rng: np.random.Generator, i: int, j: int) -> Any:
        del i, j
        return rng.random((slab_rows, n, 2))

    x = g.tiles("x", slabs, 1, (slab_rows, n, 2), initial=initial)
    pieces = g.tiles("piece", slabs, slabs, (slab_rows, slab_rows, 2))
    g.announce(2 * slabs * (slabs + 1) * iterations)
    for _ in range(iterations):
        for i in range(slabs):
            g.insert(FOURIER, x[i, 0])
            for j in range(slabs):
                g.insert(TAKE, pieces[i, j], x[i, 0], number=j)
        for i in range(slabs):
            for j in range(slabs):
                g.insert(PUT, x[i, 0], pieces[j, i], number=j)
            g.insert(FOURIER, x[i, 0])

    def error(results: Results) -> float:
        exact = _whole(results.initial(x))
        for _ in range(iterations):
            exact = np.fft.fft2(exact, norm="ortho").T
        return float(np.abs(_whole(results[x]) - exact).max())

    g.check(error, tolerance=MAX_DIFFERENCE * n, what="largest difference from NumPy's transform")


def _whole(tiles: Any) -> Any:
    """Return the square of complex numbers."""
    rows = np.concatenate([row[0] for row in tiles])
    return rows[..., 0] + 1j * rows[..., 1]
