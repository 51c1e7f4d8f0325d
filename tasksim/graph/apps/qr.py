"""QR factorisation by tiles.

Column k is reduced from the diagonal down (A. Buttari, J. Langou, J. Kurzak, J. Dongarra,
"A class of parallel tiled linear algebra algorithms for multicore architectures", Parallel
Computing 35, 2009), with the kernels of LAPACK: geqrt factors tile (k, k), gemqrt applies its
Q to row k, tpqrt factors the triangle R of tile (k, k) on top of tile (m, k), tpmqrt applies
that Q to rows k and m.

After geqrt, tile (k, k) holds R above and the reflectors V below the diagonal. gemqrt reads V,
tpqrt changes R: they touch different elements and may run at the same time. Hence V has a
handle of its own, ``V[k]``; in memory it can be the tile itself.

The application's priorities follow those of :func:`~tasksim.graph.apps.lu.lu`, N being the
larger of the tile rows and columns: geqrt 3N-3k, gemqrt 3N-(2k+n), tpqrt 3N-(2k+m), tpmqrt
3N-(k+m+n). So do its hints: reflectors that have been applied, and row k of R at the end of
step k, will not be used any more.
"""

from __future__ import annotations

from tasksim.base.errors import InputError
from tasksim.graph.apps.dense import item_bytes, model_names
from tasksim.graph.apps.parameters import Count, Dtype  # noqa: TC001 - read at run time
from tasksim.graph.apps.registry import generator
from tasksim.graph.builder import RW, GraphBuilder, R, W
from tasksim.graph.taskgraph import TaskGraph  # noqa: TC001 - read at run time

__all__ = ["qr"]


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
        Tile rows and columns, where ``rows`` or ``columns`` does not say otherwise.
    rows, columns
        Tile rows P, tile columns Q.
    tile_size
        Rows, and columns, of a tile.
    ib
        Inner block size, up to ``tile_size``; by default 32, or ``tile_size`` if that is less.
    dtype
        The elements. Kernels of float32 have models of their own (``tpmqrt_float32``).
    """
    P, Q = _shape(tiles, rows, columns)
    b, ib = tile_size, _inner_block(ib, tile_size)
    N, K = max(P, Q), min(P, Q)
    models = model_names(dtype, "geqrt", "gemqrt", "tpqrt", "tpmqrt")
    g = GraphBuilder("qr", model_names=models)
    A = g.matrix("A", P, Q, size_bytes=b * b * item_bytes(dtype))
    T = g.matrix("T", P, K, size_bytes=ib * b * item_bytes(dtype))
    V = g.vector("V", K, size_bytes=b * b * item_bytes(dtype))
    for k in range(K):
        g.insert(
            "geqrt", RW(A[k, k]), W(V[k]), W(T[k, k]),
            m=b, n=b, ib=ib, priority=3 * N - 3 * k,
        )  # fmt: skip
        for n in range(k + 1, Q):
            g.insert(
                "gemqrt", R(V[k]), R(T[k, k]), RW(A[k, n]),
                m=b, n=b, k=b, ib=ib, priority=3 * N - (2 * k + n),
            )  # fmt: skip
        g.wont_use(V[k])
        g.wont_use(T[k, k])
        for m in range(k + 1, P):
            g.insert(
                "tpqrt", RW(A[k, k]), RW(A[m, k]), W(T[m, k]),
                m=b, n=b, ib=ib, priority=3 * N - (2 * k + m),
            )  # fmt: skip
            for n in range(k + 1, Q):
                g.insert(
                    "tpmqrt", R(A[m, k]), R(T[m, k]), RW(A[k, n]), RW(A[m, n]),
                    m=b, n=b, k=b, ib=ib, priority=3 * N - (k + m + n),
                )  # fmt: skip
            g.wont_use(A[m, k])
            g.wont_use(T[m, k])
        for n in range(k, Q):
            g.wont_use(A[k, n])
    return g.build()


def _shape(tiles: int | None, rows: int | None, columns: int | None) -> tuple[int, int]:
    shape = rows or tiles, columns or tiles
    if not shape[0] or not shape[1]:
        raise InputError("qr: give tiles=VALUE, or rows=VALUE and columns=VALUE; integers from 1")
    return shape[0], shape[1]


def _inner_block(ib: int | None, tile_size: int) -> int:
    if ib is not None and ib > tile_size:
        raise InputError(f"qr: ib: got {ib}; legal: an integer from 1 to tile_size, {tile_size}")
    return ib or min(32, tile_size)
