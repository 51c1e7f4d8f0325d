"""Cholesky factorisation by tiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from tasksim.graph.apps.dense import TOKEN_BYTES, TileTasks, item_bytes, model_names
from tasksim.graph.apps.parameters import Count, Depth, Dtype  # noqa: TC001 - read at run time
from tasksim.graph.apps.registry import generator
from tasksim.graph.columns import RW, ColumnBuilder, Commute, R, W
from tasksim.graph.taskgraph import TaskGraph  # noqa: TC001 - read at run time

if TYPE_CHECKING:
    from tasksim.graph.access_mode import AccessMode
    from tasksim.graph.csr import Integers
    from tasksim.graph.handles import Vector

__all__ = ["cholesky"]

Flush = Literal["none", "peer"]
Updates = Literal["ordered", "commute"]


@generator("cholesky")
def cholesky(
    tiles: Count,
    tile_size: Count = 256,
    dtype: Dtype = "float64",
    flush: Flush | None = None,
    updates: Updates | None = None,
    lookahead: Depth | None = None,
) -> TaskGraph:
    """Cholesky factorisation A = L Lᵀ of a symmetric positive definite matrix, by tiles.

    The right-looking algorithm on the lower triangle (A. Buttari, J. Langou, J. Kurzak,
    J. Dongarra, "A class of parallel tiled linear algebra algorithms for multicore
    architectures", Parallel Computing 35, 2009). N tiles make N potrf, N(N-1)/2 trsm
    and syrk each, N(N-1)(N-2)/6 gemm.

    The application's priorities are those of StarPU's example: tasks nearer to the next diagonal
    tile are more urgent. The hints are StarPU's, too: a tile of L is not used after its last read.

    Parameters
    ----------
    tiles
        Tile rows and columns of the matrix.
    tile_size
        Rows and columns of a tile.
    dtype
        Type of the elements. Kernels of float32 have models of their own (``gemm_float32``).
    flush
        ``peer`` hints at a diagonal tile after each trsm, as StarPU's example for several nodes
        does, where the tile is then sent again for every trsm. By default there is one hint, after
        the last trsm.
    updates
        ``commute`` lets syrks and gemms of a tile run in any order, one at a time, as in that
        example. By default they run in the order of submission.
    lookahead
        Panels that may be factored ahead of the updates, as in SLATE's pipelining: potrf of step k
        waits for all updates of step k-1-lookahead; with 0 no two steps overlap. By default tasks
        wait only for their data. On several nodes, a node waits for its own updates.
    """
    N, b = tiles, tile_size
    update = Commute if updates == "commute" else RW
    models = model_names(dtype, "potrf", "trsm", "syrk", "gemm")
    g = ColumnBuilder("cholesky", tasks=N * (N + 1) * (N + 2) // 6, model_names=models)
    A = g.matrix("A", N, N, size_bytes=b * b * item_bytes(dtype))
    # Updates of a step read its token; a panel that waits for all of them writes it.
    token = None if lookahead is None else g.vector("step", N, size_bytes=TOKEN_BYTES)
    # Step k goes through the columns n from k on, and each through its rows m from n on.
    k: Integers
    n: Integers
    k, n = np.triu_indices(N)
    ends = np.cumsum(N - n)
    read_last = n > k if flush == "peer" else n >= k
    g.wont_use(A.at(n, k)[read_last], after=ends[read_last])
    column = np.repeat(np.arange(len(k)), N - n)
    m: Integers = np.arange(g.tasks) - (ends - N)[column]
    k, n = k[column], n[column]
    tasks, in_panel, on_diagonal = TileTasks.of(k, m, n), n == k, m == n

    place, k, m, n = tasks.where(in_panel & on_diagonal)
    waits = np.zeros(len(k), bool) if lookahead is None else k > lookahead
    g.insert("potrf", place[~waits], (RW, A.at(k, k)[~waits]), n=b,
             priority=(2 * N - 2 * k)[~waits])  # fmt: skip
    if token is not None and lookahead is not None and waits.any():
        behind = token.at(k[waits] - 1 - lookahead)
        g.insert("potrf", place[waits], (RW, A.at(k, k)[waits]), (W, behind), n=b,
                 priority=(2 * N - 2 * k)[waits])  # fmt: skip
    place, k, m, n = tasks.where(in_panel & ~on_diagonal)
    if flush == "peer":
        g.wont_use(A.at(k, k), after=place + 1)
    g.insert(
        "trsm", place, (R, A.at(k, k)), (RW, A.at(m, k)),
        m=b, n=b, priority=2 * N - 2 * k - m,
    )  # fmt: skip
    place, k, m, n = tasks.where(~in_panel & on_diagonal)
    g.insert(
        "syrk", place, (R, A.at(n, k)), (update, A.at(n, n)), *_read(token, k),
        n=b, k=b, priority=2 * N - 2 * k - n,
    )  # fmt: skip
    place, k, m, n = tasks.where(~in_panel & ~on_diagonal)
    g.insert(
        "gemm", place, (R, A.at(m, k)), (R, A.at(n, k)), (update, A.at(m, n)), *_read(token, k),
        m=b, n=b, k=b, priority=2 * N - 2 * k - m - n,
    )  # fmt: skip
    return g.build()


def _read(token: Vector | None, step: Integers) -> list[tuple[AccessMode, Integers]]:
    """Return the access to the tokens of the steps, if there are tokens."""
    return [] if token is None else [(R, token.at(step))]
