"""Matrix multiplication panel by panel (SUMMA)."""

from __future__ import annotations

from tasksim.graph.apps.dense import item_bytes, model_names
from tasksim.graph.apps.parameters import Count, Dtype  # noqa: TC001 - read at run time
from tasksim.graph.apps.phases import Phases
from tasksim.graph.apps.registry import generator
from tasksim.graph.builder import RW, GraphBuilder, R
from tasksim.graph.taskgraph import TaskGraph  # noqa: TC001 - read at run time

__all__ = ["summa"]


@generator("summa")
def summa(
    tiles: Count,
    tile_size: Count = 256,
    dtype: Dtype = "float64",
    rows: Count = 1,
    columns: Count = 1,
) -> TaskGraph:
    """Matrix multiplication C += A B by tiles, panel by panel (SUMMA).

    R. van de Geijn, J. Watts, "SUMMA: scalable universal matrix multiplication algorithm",
    Concurrency 9 (4), 1997. Step k multiplies column k of A and row k of B; tiles of A go along
    the rows of nodes, those of B along the columns. N tiles make N³ gemm.

    Parameters
    ----------
    tiles
        Tile rows and columns of each matrix.
    tile_size
        Rows and columns of a tile.
    dtype
        Type of the elements.
    rows, columns
        The grid of nodes that wait for each other after each step; with 1 x 1 none waits.
    """
    b = tile_size
    g = GraphBuilder("summa", model_names=model_names(dtype, "gemm"))
    size = b * b * item_bytes(dtype)
    A, B, C = (g.matrix(name, tiles, tiles, size_bytes=size) for name in "ABC")
    bulk = rows * columns > 1
    phases = Phases(g, rows, columns) if bulk else None
    g.announce(tiles**3 + (tiles * phases.barriers if phases else 0))
    for k in range(tiles):
        for i in range(tiles):
            for j in range(tiles):
                here = [phases.here(i, j)] if phases else []
                reads = R(A[i, k]), R(B[k, j])
                g.insert("gemm", *here, *reads, RW(C[i, j]), m=b, n=b, k=b, priority=-k)
        if phases:
            phases.end()
    return g.build()
