"""LU factorisation by tiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tasksim.graph.apps.dense import grids, item_bytes, model_names
from tasksim.graph.apps.parameters import Count, Dtype  # noqa: TC001 - read at run time
from tasksim.graph.apps.registry import generator
from tasksim.graph.columns import RW, ColumnBuilder, R
from tasksim.graph.taskgraph import TaskGraph  # noqa: TC001 - read at run time

if TYPE_CHECKING:
    from tasksim.graph.csr import Integers

__all__ = ["lu"]


@generator("lu")
def lu(tiles: Count, tile_size: Count = 256, dtype: Dtype = "float64") -> TaskGraph:
    """LU factorisation A = L U without pivoting, by tiles.

    The right-looking algorithm: row k of U is solved with the unit lower triangle of the
    diagonal tile from the left (trsm_ll), column k of L with its upper triangle from the
    right (trsm_ru), the rest is updated (gemm). N tiles make N getrf, N(N-1)/2 trsm_ll and
    trsm_ru each, (N-1)N(2N-1)/6 gemm. The gemm is not the one of Cholesky (nothing is
    transposed), so its model is ``gemm_nn``.

    The application's priorities are those of StarPU's example: tasks nearer to the next diagonal
    tile are more urgent. The hints are StarPU's, too: the tiles of L and U of a step are not used
    after it. The parameters are those of :func:`~tasksim.graph.apps.cholesky.cholesky`.
    """
    N, b = tiles, tile_size
    models = model_names(dtype, "getrf", "trsm_ll", "trsm_ru", gemm="gemm_nn")
    g = ColumnBuilder("lu", tasks=N * (N + 1) * (2 * N + 1) // 6, model_names=models)
    A = g.matrix("A", N, N, size_bytes=b * b * item_bytes(dtype))
    # Step k: getrf, then for each i > k a trsm_ll and a trsm_ru, then row after row of gemm.
    left = np.arange(N - 1, -1, -1)
    ends = np.cumsum((left + 1) ** 2)
    begins = ends - (left + 1) ** 2

    k: Integers = np.arange(N)
    g.insert("getrf", begins, (RW, A.at(k, k)), n=b, priority=3 * N - 3 * k)
    g.wont_use(A.at(k, k), after=begins + 1 + 2 * left)
    i: Integers
    k, i = np.triu_indices(N, 1)
    place, urgency = begins[k] + 1 + 2 * (i - k - 1), 3 * N - (2 * k + i)
    g.insert("trsm_ll", place, (R, A.at(k, k)), (RW, A.at(k, i)), m=b, n=b, priority=urgency)
    g.insert("trsm_ru", place + 1, (R, A.at(k, k)), (RW, A.at(i, k)), m=b, n=b, priority=urgency)
    g.wont_use(np.column_stack([A.at(i, k), A.at(k, i)]).ravel(), after=np.repeat(ends[k], 2))
    k, i, j = grids(left, left)
    place = np.arange(len(k)) + np.cumsum(1 + 2 * left)[k]
    i, j = i + k + 1, j + k + 1
    g.insert(
        "gemm", place, (R, A.at(i, k)), (R, A.at(k, j)), (RW, A.at(i, j)),
        m=b, n=b, k=b, priority=3 * N - (k + i + j),
    )  # fmt: skip
    return g.build()
