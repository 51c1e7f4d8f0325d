"""LU factorisation by tiles."""

from __future__ import annotations

from tasksim.graph.apps.dense import item_bytes, model_names
from tasksim.graph.apps.parameters import Count, Dtype  # noqa: TC001 - read at run time
from tasksim.graph.apps.registry import generator
from tasksim.graph.builder import RW, GraphBuilder, R
from tasksim.graph.taskgraph import TaskGraph  # noqa: TC001 - read at run time

__all__ = ["lu"]


@generator("lu")
def lu(tiles: Count, tile_size: Count = 256, dtype: Dtype = "float64") -> TaskGraph:
    """LU factorisation A = L U without pivoting, by tiles.

    The right-looking algorithm: row k of U is solved with the unit lower triangle of the
    diagonal tile from the left (trsm_ll), column k of L with its upper triangle from the
    right (trsm_ru), the rest is updated (gemm). N tiles make N getrf, N(N-1)/2 trsm_ll and
    trsm_ru each, (N-1)N(2N-1)/6 gemm. The gemm is not the one of Cholesky (nothing is
    transposed), so its model is ``gemm_nn``.

    The application's priorities are those of StarPU's example: what is nearer to the next
    diagonal tile is more urgent. So are the hints: the tiles of L and U of a step will not be
    used any more after it. The parameters are those of
    :func:`~tasksim.graph.apps.cholesky.cholesky`.
    """
    N, b = tiles, tile_size
    models = model_names(dtype, "getrf", "trsm_ll", "trsm_ru", gemm="gemm_nn")
    g = GraphBuilder("lu", model_names=models)
    A = g.matrix("A", N, N, size_bytes=b * b * item_bytes(dtype))
    for k in range(N):
        g.insert("getrf", RW(A[k, k]), n=b, priority=3 * N - 3 * k)
        for i in range(k + 1, N):
            urgency = 3 * N - (2 * k + i)
            g.insert("trsm_ll", R(A[k, k]), RW(A[k, i]), m=b, n=b, priority=urgency)
            g.insert("trsm_ru", R(A[k, k]), RW(A[i, k]), m=b, n=b, priority=urgency)
        g.wont_use(A[k, k])
        for i in range(k + 1, N):
            for j in range(k + 1, N):
                g.insert(
                    "gemm", R(A[i, k]), R(A[k, j]), RW(A[i, j]),
                    m=b, n=b, k=b, priority=3 * N - (k + i + j),
                )  # fmt: skip
        for i in range(k + 1, N):
            g.wont_use(A[i, k])
            g.wont_use(A[k, i])
    return g.build()
