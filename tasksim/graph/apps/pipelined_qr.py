"""QR factorisation on a grid of ranks in two dimensions, whose trailing matrix shrinks.

The algorithm is that of the library CANDMC (G. Ballard, J. Demmel, L. Grigori, M. Jacquelin, H. D.
Nguyen, E. Solomonik, "Reconstructing Householder vectors from tall-skinny QR", IPDPS 2014). The
ranks of one column of the grid factor a panel together: each its own rows (geqrf), then triangles
in pairs along a tree (tpqrt). Its Householder vectors are reconstructed (ormqr, getrf, trsm),
broadcast along the rows of the grid, and applied to the trailing matrix: W = Yᵀ A (gemm, allreduce
along the columns), W = Tᵀ W (trmm), A -= Y W (gemm).

Ranks and collectives are data and tasks as in :mod:`tasksim.graph.apps.recursive_cholesky`.
"""

from __future__ import annotations

from typing import Any, Final

from tasksim.base.errors import InputError
from tasksim.base.progress import watched
from tasksim.graph.apps.parameters import Count  # noqa: TC001 - read at run time
from tasksim.graph.apps.qr import inner_block
from tasksim.graph.apps.registry import generator
from tasksim.graph.builder import INSERTED_SHARE, RW, GraphBuilder
from tasksim.graph.taskgraph import TaskGraph  # noqa: TC001 - read at run time

__all__ = ["pipelined_qr"]

ITEM_BYTES: Final = 8
"""Size of a matrix element: a double."""


@generator("pipelined-qr")
def pipelined_qr(
    n: Count,
    m: Count | None = None,
    block: Count = 64,
    rows: Count = 2,
    columns: Count | None = None,
    ranks: Count | None = None,
) -> TaskGraph:
    """QR factorisation of m x n on a grid of ranks, panel by panel, bulk-synchronous.

    The matrix is distributed by blocks, cyclically in both dimensions. The trailing matrix shrinks,
    so that nearly each panel has kernels and messages of its own sizes. The ranks with the next
    panel update and factor it before the rest of their trailing matrix (pipelining).

    Parameters
    ----------
    n
        Columns of the matrix, a multiple of block.
    m
        Rows of the matrix, a multiple of block and at least n; by default n.
    block
        Columns of a panel and rows of a block.
    rows, columns
        Ranks along each side of the grid; columns are 2 by default.
    ranks
        Ranks of the grid, instead of columns: a multiple of rows.
    """
    if ranks is not None and (columns is not None or ranks % rows):
        got = f"pipelined-qr: ranks={ranks}, rows={rows}"
        got += "" if columns is None else f", columns={columns}"
        raise InputError(f"{got}; legal: a multiple of rows, or columns instead")
    columns = columns or (2 if ranks is None else ranks // rows)
    m = n if m is None else m
    for name, value in (("n", n), ("m", m)):
        if value % block:
            got = f"pipelined-qr: {name}={value}"
            raise InputError(f"{got}; legal: a multiple of block, {block}")
    if m < n:
        raise InputError(f"pipelined-qr: m={m}; legal: at least n, {n}")
    return _Grid(rows, columns, block, m // block, n // block).factored()


class _Grid:
    """The ranks, and their tasks so far."""

    def __init__(self, rows: int, columns: int, block: int, high: int, wide: int) -> None:
        self._g = GraphBuilder("pipelined-qr")
        self._rows, self._columns, self._block = rows, columns, block
        self._high, self._wide = high, wide
        self._state = self._g.vector("rank", rows * columns, size_bytes=0)

    def factored(self) -> TaskGraph:
        """Return the graph of a factorisation."""
        self._factor(0)
        for panel in watched(range(self._wide), "panels", until=INSERTED_SHARE):
            self._spread(panel)
            following = panel + 1
            if following < self._wide:
                self._update(panel, following % self._columns, 1)
                self._factor(following)
            for column in range(self._columns):
                first = (column - following) % self._columns
                mine = len(range(following, self._wide)[first :: self._columns])
                is_next = following < self._wide and column == following % self._columns
                self._update(panel, column, mine - is_next)
        return self._g.build()

    def _heights(self, panel: int) -> list[int]:
        """Return the number of rows from *panel* on of the ranks in each row of the grid."""
        counts = [0] * self._rows
        for row in range(panel, self._high):
            counts[row % self._rows] += self._block
        return counts

    def _factor(self, panel: int) -> None:
        """Factor a panel on its ranks."""
        b, column, root = self._block, panel % self._columns, panel % self._rows
        heights = self._heights(panel)
        for row, height in enumerate(heights):
            if height:
                self._compute("geqrf", row, column, m=height, n=b)
        # A binary tree whose root has the diagonal block.
        having = [(root + step) % self._rows for step in range(self._rows)]
        having = [row for row in having if heights[row]]
        distance = 1
        while distance < len(having):
            for place in range(0, len(having) - distance, 2 * distance):
                to, other = having[place], having[place + distance]
                pair = [to, other]
                self._collective("sendrecv", ITEM_BYTES * b * b // 2, column, pair)
                self._compute("tpqrt", to, column, m=b, n=b, ib=inner_block(None, b))
            distance *= 2
        for row, height in enumerate(heights):
            if height:
                self._compute("ormqr", row, column, m=height, n=b, k=b)
        self._compute("getrf", root, column, n=b)
        if len(having) > 1:
            self._collective("bcast", ITEM_BYTES * b * b, column, sorted(having))
        for row, height in enumerate(heights):
            if height:
                self._compute("trsm", row, column, m=height, n=b)

    def _spread(self, panel: int) -> None:
        """Broadcast the vectors of a panel along the rows of the grid."""
        if self._columns == 1 or panel + 1 == self._wide:
            return
        for row, height in enumerate(self._heights(panel)):
            if height:
                members = [self._rank(row, column) for column in range(self._columns)]
                size = ITEM_BYTES * height * self._block
                self._insert("bcast", members, bytes=size, ranks=self._columns, stride=1)

    def _update(self, panel: int, column: int, blocks: int) -> None:
        """Update *blocks* blocks of the trailing matrix on the ranks of a *column* of the grid."""
        if not blocks:
            return
        b, width = self._block, self._block * blocks
        heights = self._heights(panel)
        having = [row for row, height in enumerate(heights) if height]
        for row in having:
            self._compute("gemm", row, column, m=b, n=width, k=heights[row])
        if len(having) > 1:
            self._collective("allreduce", ITEM_BYTES * b * width, column, having)
        for row in having:
            self._compute("trmm", row, column, m=b, n=width)
            self._compute("gemm", row, column, m=heights[row], n=width, k=b)

    def _compute(self, kernel: str, row: int, column: int, **sizes: int) -> None:
        self._insert(kernel, [self._rank(row, column)], **sizes)

    def _collective(self, kernel: str, size: int, column: int, rows: list[int]) -> None:
        """Let the ranks of some *rows* of a *column* of the grid communicate."""
        members = [self._rank(row, column) for row in rows]
        stride = abs(members[1] - members[0])
        self._insert(kernel, members, bytes=size, ranks=len(members), stride=stride)

    def _insert(self, kernel: str, members: list[int], /, **parameters: Any) -> None:
        self._g.insert(kernel, *(RW(self._state[rank]) for rank in members), **parameters)

    def _rank(self, row: int, column: int) -> int:
        return row * self._columns + column
