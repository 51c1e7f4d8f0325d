"""Recursive Cholesky factorisation on a grid of ranks in three dimensions.

The algorithm is that of the library Capital (E. Hutter, E. Solomonik, "Communication-avoiding
Cholesky-QR2 for rectangular matrices", IPDPS 2019; A. Tiskin, "Communication-efficient parallel
generic pairwise elimination", 2007). The factor L and its inverse Y of a matrix of n rows come from
those of its halves::

    L11, Y11 = factor(A11)
    L21 = A21 Y11ᵀ                  trmm
    L22, Y22 = factor(A22 - L21 L21ᵀ)    syrk
    Y21 = -Y22 (L21 Y11)            trmm, twice; where the inverse is needed

Ranks form a cube of *side* ranks. Each layer of it has a copy of the matrix, distributed
cyclically. A product broadcasts one operand along the rows of the grid and the other along its
columns, multiplies on each rank, and adds up along the depth.

A rank is a datum without bytes, its state, which each of its tasks changes. A collective is one
task that changes the states of its ranks, so that it begins when all of them have arrived, and they
continue when it ends. Its parameters are its signature: bytes, ranks, and the stride between ranks.
"""

from __future__ import annotations

from typing import Final, Literal

from tasksim.base.errors import InputError
from tasksim.base.progress import follow
from tasksim.graph.apps.parameters import Count  # noqa: TC001 - read at run time
from tasksim.graph.apps.registry import generator
from tasksim.graph.builder import INSERTED_SHARE, RW, GraphBuilder
from tasksim.graph.taskgraph import TaskGraph  # noqa: TC001 - read at run time

__all__ = ["recursive_cholesky"]

BaseCase = Literal["gather", "allgather", "layer"]
ITEM_BYTES: Final = 8
"""Size of a matrix element: a double."""


@generator("recursive-cholesky")
def recursive_cholesky(
    n: Count, block: Count = 256, base: BaseCase = "gather", side: Count = 2
) -> TaskGraph:
    """Recursive Cholesky factorisation on a cube of ranks, bulk-synchronous.

    With d levels, n = block 2ᵈ, there are 2ᵈ base cases, 2ᵈ - 1 products trmm and syrk each, and
    2(2ᵈ - 1 - d) trmm for inverses. A product has 2 side² bcast, side³ tasks that compute, and
    side² allreduce. A small block makes less computation and communication along the critical
    path, and more synchronisations.

    Parameters
    ----------
    n
        Rows of the matrix: block times a power of 2.
    block
        Rows of a base case, a multiple of side.
    base
        Method for base cases. ``gather``: the first rank of the first layer gathers a base case,
        factors it, and scatters it over the layer, which broadcasts it along the depth.
        ``allgather``: each rank gets all of it within its layer, and factors it. ``layer``: only
        the ranks of the first layer do so, and broadcast along the depth.
    side
        Ranks along each side of the cube.
    """
    levels, rows = 0, block
    while rows < n:
        levels, rows = levels + 1, 2 * rows
    if rows != n:
        near = f"{rows // 2} or {rows}" if levels else f"{rows}"
        raise InputError(
            f"recursive-cholesky: n={n}; legal: block, {block}, times a power of 2, such as {near}"
        )
    if block % side:
        raise InputError(f"recursive-cholesky: block={block}; legal: a multiple of side, {side}")
    return _Cube(side, base).factored(n, block)


class _Cube:
    """The ranks, and their tasks so far."""

    def __init__(self, side: int, base: BaseCase) -> None:
        self._g = GraphBuilder("recursive-cholesky")
        self._side, self._base = side, base
        self._state = self._g.vector("rank", side**3, size_bytes=0)
        self._line = range(side)
        self._all = list(range(side**3))
        self._solved = 0

    def factored(self, n: int, block: int) -> TaskGraph:
        """Return the graph of a factorisation."""
        blocks = n // block
        follow(lambda: self._solved, blocks, "diagonal blocks", until=INSERTED_SHARE)
        self._factor(n, block, inverse=False)
        return self._g.build()

    def _factor(self, n: int, block: int, *, inverse: bool) -> None:
        if n == block:
            self._solve(n, inverse=inverse)
            return
        half = n // 2
        self._factor(half, block, inverse=True)
        self._multiply("trmm", half)
        self._multiply("syrk", half)
        self._factor(half, block, inverse=inverse)
        if inverse:
            self._multiply("trmm", half)
            self._multiply("trmm", half)

    def _multiply(self, kernel: str, n: int) -> None:
        """Multiply matrices of *n* rows: broadcasts along two dimensions, sums along the third."""
        rows = n // self._side
        size = ITEM_BYTES * rows * rows
        for k in self._line:
            for i in self._line:
                self._collective("bcast", size, [self._rank(i, j, k) for j in self._line])
            for j in self._line:
                self._collective("bcast", size, [self._rank(i, j, k) for i in self._line])
        for rank in self._all:
            if kernel == "syrk":
                self._g.insert(kernel, RW(self._state[rank]), n=rows, k=rows)
            else:
                self._g.insert(kernel, RW(self._state[rank]), m=rows, n=rows)
        self._along_depth("allreduce", size)

    def _solve(self, n: int, *, inverse: bool) -> None:
        """Factor a base case of *n* rows."""
        self._solved += 1
        size = self._side**2
        layers = [self._all[k * size : (k + 1) * size] for k in self._line]
        whole = ITEM_BYTES * n * n
        # With the inverse, twice the data go back.
        part = (1 + inverse) * whole // size
        if self._base == "gather":
            self._collective("gather", whole, layers[0])
            self._compute(n, layers[0][:1], inverse=inverse)
            self._collective("scatter", (1 + inverse) * whole, layers[0])
            self._along_depth("bcast", part)
        elif self._base == "layer":
            self._collective("allgather", whole, layers[0])
            self._compute(n, layers[0], inverse=inverse)
            self._along_depth("bcast", part)
        else:
            for layer in layers:
                self._collective("allgather", whole, layer)
            self._compute(n, self._all, inverse=inverse)

    def _compute(self, n: int, ranks: list[int], *, inverse: bool) -> None:
        for rank in ranks:
            self._g.insert("potrf", RW(self._state[rank]), n=n)
            if inverse:
                self._g.insert("trtri", RW(self._state[rank]), n=n)

    def _along_depth(self, kernel: str, size: int) -> None:
        for i in self._line:
            for j in self._line:
                self._collective(kernel, size, [self._rank(i, j, k) for k in self._line])

    def _collective(self, kernel: str, size: int, ranks: list[int]) -> None:
        """Let *ranks*, at equal distances, communicate; a single rank does not."""
        if len(ranks) > 1:
            members = [RW(self._state[rank]) for rank in ranks]
            stride = ranks[1] - ranks[0]
            self._g.insert(kernel, *members, bytes=size, ranks=len(ranks), stride=stride)

    def _rank(self, i: int, j: int, k: int) -> int:
        return (k * self._side + i) * self._side + j
