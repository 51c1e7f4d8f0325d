"""Cholesky factorisation by tiles."""

from __future__ import annotations

from tasksim.graph.apps.dense import item_bytes, model_names
from tasksim.graph.apps.parameters import Count, Dtype  # noqa: TC001 - read at run time
from tasksim.graph.apps.registry import generator
from tasksim.graph.builder import RW, GraphBuilder, R
from tasksim.graph.taskgraph import TaskGraph  # noqa: TC001 - read at run time

__all__ = ["cholesky"]


@generator("cholesky")
def cholesky(tiles: Count, tile_size: Count = 256, dtype: Dtype = "float64") -> TaskGraph:
    """Cholesky factorisation A = L Lᵀ of a symmetric positive definite matrix, by tiles.

    The right-looking algorithm on the lower triangle (A. Buttari, J. Langou, J. Kurzak,
    J. Dongarra, "A class of parallel tiled linear algebra algorithms for multicore
    architectures", Parallel Computing 35, 2009). N tiles make N potrf, N(N-1)/2 trsm
    and syrk each, N(N-1)(N-2)/6 gemm.

    The application's priorities are those of StarPU's example: what is nearer to the next
    diagonal tile is more urgent. So are the hints: a tile of L that has been read last will not
    be used any more.

    Parameters
    ----------
    tiles
        Tile rows, and columns, of the matrix.
    tile_size
        Rows, and columns, of a tile.
    dtype
        The elements. Kernels of float32 have models of their own (``gemm_float32``).
    """
    N, b = tiles, tile_size
    g = GraphBuilder("cholesky", model_names=model_names(dtype, "potrf", "trsm", "syrk", "gemm"))
    A = g.matrix("A", N, N, size_bytes=b * b * item_bytes(dtype))
    for k in range(N):
        urgency = 2 * N - 2 * k
        g.insert("potrf", RW(A[k, k]), n=b, priority=urgency)
        for m in range(k + 1, N):
            g.insert("trsm", R(A[k, k]), RW(A[m, k]), m=b, n=b, priority=urgency - m)
        g.wont_use(A[k, k])
        for n in range(k + 1, N):
            g.insert("syrk", R(A[n, k]), RW(A[n, n]), n=b, k=b, priority=urgency - n)
            for m in range(n + 1, N):
                g.insert(
                    "gemm", R(A[m, k]), R(A[n, k]), RW(A[m, n]),
                    m=b, n=b, k=b, priority=urgency - m - n,
                )  # fmt: skip
            g.wont_use(A[n, k])
    return g.build()
