"""Bulk-synchronous programs: SUMMA, a Cholesky factorisation, and the barriers of their phases.

Each node has a token. Tasks of a phase read their node's token; at the end of the phase the node
writes it, one task of the first node reads all tokens, and then each node writes its own again.
These tasks have the kernel ``barrier`` and a duration of zero of their own.
"""

from __future__ import annotations

from tasksim.graph.apps.dense import TOKEN_BYTES, item_bytes, model_names
from tasksim.graph.apps.parameters import Count, Dtype  # noqa: TC001 - read at run time
from tasksim.graph.apps.registry import generator
from tasksim.graph.builder import RW, GraphBuilder, R, W
from tasksim.graph.taskgraph import TaskGraph  # noqa: TC001 - read at run time

__all__ = ["bulk_cholesky", "summa"]


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
    phases = _Phases(g, rows, columns)
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
    phases = _Phases(g, rows, columns) if rows * columns > 1 else None
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


class _Phases:
    """The phases of the program that *g* builds, on *rows* x *columns* nodes."""

    def __init__(self, g: GraphBuilder, rows: int, columns: int) -> None:
        self._g, self._rows, self._columns = g, rows, columns
        self._tokens = g.vector("token", rows * columns, size_bytes=TOKEN_BYTES)
        self._gate = g.vector("gate", 1, size_bytes=TOKEN_BYTES)

    @property
    def barriers(self) -> int:
        """Number of tasks that end a phase."""
        nodes = len(self._tokens)
        return 1 if nodes == 1 else 2 * nodes + 1

    def here(self, row: int, column: int) -> int:
        """Return the access that makes a task on tile (row, column) part of the phase."""
        node = row % self._rows * self._columns + column % self._columns
        return R(self._tokens[node])

    def end(self) -> None:
        """End the phase: no node begins the next one before all have ended this one."""
        if len(self._tokens) == 1:
            self._wait(RW(self._tokens[0]))
            return
        for token in self._tokens:
            self._wait(RW(token))
        self._wait(*map(R, self._tokens), W(self._gate[0]))
        for token in self._tokens:
            self._wait(R(self._gate[0]), RW(token))

    def _wait(self, *accesses: int) -> None:
        self._g.insert("barrier", *accesses, duration_s=0.0)
