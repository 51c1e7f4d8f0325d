"""Bulk-synchronous Cholesky factorisation by tiles."""

from __future__ import annotations

from tasksim.graph.apps.dense import item_bytes, model_names
from tasksim.graph.apps.parameters import Count, Dtype  # noqa: TC001 - read at run time
from tasksim.graph.apps.phases import Phases
from tasksim.graph.apps.registry import generator
from tasksim.graph.builder import RW, GraphBuilder, R
from tasksim.graph.taskgraph import TaskGraph  # noqa: TC001 - read at run time

__all__ = ["bulk_cholesky"]


@generator("bulk-cholesky")
def bulk_cholesky(
    tiles: Count,
    tile_size: Count = 256,
    dtype: Dtype = "float64",
    rows: Count = 1,
    columns: Count = 1,
) -> TaskGraph:
    """Cholesky factorisation, bulk-synchronous: panel, barrier, update, barrier.

    This is the algorithm of libraries before task-based runtimes (ScaLAPACK: J. Choi et al.,
    "Design and implementation of the ScaLAPACK LU, QR, and Cholesky factorization routines",
    Scientific Programming 5, 1996): no look-ahead. The tasks are those of ``cholesky``, with three
    barriers per step: tasks of the kernel ``barrier``.

    Parameters
    ----------
    tiles
        Tile rows and columns of the matrix.
    tile_size
        Rows and columns of a tile.
    dtype
        Type of the elements.
    rows, columns
        The grid of nodes that wait for each other, as in ``--grid``.
    """
    b = tile_size
    models = model_names(dtype, "potrf", "trsm", "syrk", "gemm")
    g = GraphBuilder("bulk-cholesky", model_names=models)
    A = g.matrix("A", tiles, tiles, size_bytes=b * b * item_bytes(dtype))
    phases = Phases(g, rows, columns)
    g.announce(tiles * (tiles + 1) * (tiles + 2) // 6 + 3 * tiles * phases.barriers)
    for k in range(tiles):
        g.insert("potrf", phases.here(k, k), RW(A[k, k]), n=b)
        phases.end()
        for m in range(k + 1, tiles):
            g.insert("trsm", phases.here(m, k), R(A[k, k]), RW(A[m, k]), m=b, n=b)
        phases.end()
        for n in range(k + 1, tiles):
            g.insert("syrk", phases.here(n, n), R(A[n, k]), RW(A[n, n]), n=b, k=b)
            for m in range(n + 1, tiles):
                reads = R(A[m, k]), R(A[n, k])
                g.insert("gemm", phases.here(m, n), *reads, RW(A[m, n]), m=b, n=b, k=b)
        phases.end()
    return g.build()
