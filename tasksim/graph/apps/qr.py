"""QR factorisation by tiles.

Column k is reduced from the diagonal down (A. Buttari, J. Langou, J. Kurzak, J. Dongarra,
"A class of parallel tiled linear algebra algorithms for multicore architectures", Parallel
Computing 35, 2009), with the kernels of LAPACK: geqrt factors tile (k, k), gemqrt applies its
Q to row k, tpqrt factors the triangle R of tile (k, k) on top of tile (m, k), tpmqrt applies
that Q to rows k and m.

After geqrt, tile (k, k) holds R above and the reflectors V below the diagonal. gemqrt reads V,
tpqrt changes R: they touch different elements and may run at the same time. Hence V has a
handle of its own, ``V[k]``; in memory it can be the tile itself.

The application's priorities follow those of :func:`~tasksim.graph.apps.lu.lu`, N being the larger
of the tile rows and columns: geqrt 3N-3k, gemqrt 3N-(2k+n), tpqrt 3N-(2k+m), tpmqrt 3N-(k+m+n). Its
hints follow them, too: reflectors are not used after their application, nor row k of R after step
k.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import InputError
from tasksim.graph.apps.dense import TileTasks, grids, item_bytes, model_names
from tasksim.graph.apps.parameters import Count, Dtype  # noqa: TC001 - read at run time
from tasksim.graph.apps.registry import generator
from tasksim.graph.columns import RW, ColumnBuilder, R, W
from tasksim.graph.taskgraph import TaskGraph  # noqa: TC001 - read at run time

if TYPE_CHECKING:
    from tasksim.graph.csr import Int64, Integers
    from tasksim.graph.handles import Matrix, Vector

__all__ = ["inner_block", "qr"]


@generator("qr")
def qr(
    tiles: Count | None = None,
    rows: Count | None = None,
    columns: Count | None = None,
    tile_size: Count = 256,
    ib: Count | None = None,
    dtype: Dtype = "float64",
) -> TaskGraph:
    """QR factorisation A = Q R of a square or rectangular matrix, by tiles, flat tree.

    P x Q tiles with K = min(P, Q) make K geqrt and, summed over k < K, Q-1-k gemqrt, P-1-k
    tpqrt and (P-1-k)(Q-1-k) tpmqrt. See the text of this module.

    Parameters
    ----------
    tiles
        Tile rows and columns, unless ``rows`` or ``columns`` is given.
    rows, columns
        Tile rows P, tile columns Q.
    tile_size
        Rows and columns of a tile.
    ib
        Inner block size, up to ``tile_size``; by default 32, or ``tile_size`` if that is smaller.
    dtype
        Type of the elements. Kernels of float32 have models of their own (``tpmqrt_float32``).
    """
    P, Q = rows or tiles, columns or tiles
    if not P or not Q:
        raise InputError("qr: give tiles=VALUE, or rows=VALUE and columns=VALUE; integers from 1")
    b, ib = tile_size, inner_block(ib, tile_size)
    N, K = max(P, Q), min(P, Q)
    models = model_names(dtype, "geqrt", "gemqrt", "tpqrt", "tpmqrt")
    k: Integers = np.arange(K)
    g = ColumnBuilder("qr", tasks=int(((P - k) * (Q - k)).sum()), model_names=models)
    A = g.matrix("A", P, Q, size_bytes=b * b * item_bytes(dtype))
    T = g.matrix("T", P, K, size_bytes=ib * b * item_bytes(dtype))
    V = g.vector("V", K, size_bytes=b * b * item_bytes(dtype))
    # Step k goes through the rows m from k on, and each row through its columns n from k on.
    ends = np.cumsum((P - k) * (Q - k))
    _hint(g, A, T, V, ends)
    step, row, column = grids(P - k, Q - k)
    tasks = TileTasks.of(step, row + step, column + step)
    first_row, first_column = row == 0, column == 0

    place, k, m, n = tasks.where(first_row & first_column)
    g.insert(
        "geqrt", place, (RW, A.at(k, k)), (W, V.at(k)), (W, T.at(k, k)),
        m=b, n=b, ib=ib, priority=3 * N - 3 * k,
    )  # fmt: skip
    place, k, m, n = tasks.where(first_row & ~first_column)
    g.insert(
        "gemqrt", place, (R, V.at(k)), (R, T.at(k, k)), (RW, A.at(k, n)),
        m=b, n=b, k=b, ib=ib, priority=3 * N - (2 * k + n),
    )  # fmt: skip
    place, k, m, n = tasks.where(~first_row & first_column)
    g.insert(
        "tpqrt", place, (RW, A.at(k, k)), (RW, A.at(m, k)), (W, T.at(m, k)),
        m=b, n=b, ib=ib, priority=3 * N - (2 * k + m),
    )  # fmt: skip
    place, k, m, n = tasks.where(~first_row & ~first_column)
    g.insert(
        "tpmqrt", place, (R, A.at(m, k)), (R, T.at(m, k)), (RW, A.at(k, n)), (RW, A.at(m, n)),
        m=b, n=b, k=b, ib=ib, priority=3 * N - (k + m + n),
    )  # fmt: skip
    return g.build()


def _hint(g: ColumnBuilder, A: Matrix, T: Matrix, V: Vector, ends: Int64) -> None:
    """Add hints at data that are not used any more: applied reflectors, then row k of R.

    *ends* are the numbers of tasks up to the end of each step.
    """
    k: Integers = np.arange(len(ends))
    below, right = A.rows - k, A.columns - k
    begins = ends - below * right
    g.wont_use(np.column_stack([V.at(k), T.at(k, k)]).ravel(), after=np.repeat(begins + right, 2))
    k, m, _ = grids(below - 1, np.ones_like(k))
    m = m + k + 1
    applied = np.column_stack([A.at(m, k), T.at(m, k)]).ravel()
    g.wont_use(applied, after=np.repeat(begins[k] + (m - k + 1) * right[k], 2))
    k, _, n = grids(np.ones_like(right), right)
    g.wont_use(A.at(k, n + k), after=ends[k])


def inner_block(ib: int | None, tile_size: int) -> int:
    """Return the width of the inner blocks: the given one, or else at most 32."""
    if ib is not None and ib > tile_size:
        raise InputError(f"qr: ib: got {ib}; legal: an integer from 1 to tile_size, {tile_size}")
    return ib or min(32, tile_size)
