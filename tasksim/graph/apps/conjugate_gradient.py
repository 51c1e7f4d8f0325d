"""Conjugate gradient on a stencil, with halos between neighbours and sums over all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.graph.apps.parameters import Count  # noqa: TC001 - read at run time
from tasksim.graph.apps.registry import generator
from tasksim.graph.builder import RW, GraphBuilder, R, W
from tasksim.graph.taskgraph import TaskGraph  # noqa: TC001 - read at run time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tasksim.graph.handles import Matrix

__all__ = ["ITEM_BYTES", "SIDES", "conjugate_gradient", "neighbours"]

SIDES = ((-1, 0), (1, 0), (0, -1), (0, 1))
ITEM_BYTES = 8


@generator("cg")
def conjugate_gradient(
    block_rows: Count, block_columns: Count, block_size: Count = 256, iterations: Count = 10
) -> TaskGraph:
    """Conjugate gradients for a stencil of five points on a grid, in blocks.

    M. Hestenes, E. Stiefel, "Methods of conjugate gradients for solving linear systems", 1952. In
    each iteration *pack* copies the edges of a block, *stencil* reads those of its neighbours and
    multiplies, *dot* and *add* sum over a binomial tree, *axpy* and *update* change vectors. Strong
    scaling: the same blocks on more nodes; weak scaling: as many blocks as nodes.

    Parameters
    ----------
    block_rows, block_columns
        Number of rows and of columns of blocks.
    block_size
        Points in a row and in a column of a block.
    iterations
        Number of iterations.
    """
    b, shape = block_size, (block_rows, block_columns)
    g = GraphBuilder("cg")
    block, edge = b * b * ITEM_BYTES, b * ITEM_BYTES
    x, r, p, q = (g.matrix(name, *shape, size_bytes=block) for name in "xrpq")
    edges = [g.matrix(f"edge{side}", *shape, size_bytes=edge) for side in range(len(SIDES))]
    pq, rr = (g.matrix(name, *shape, size_bytes=ITEM_BYTES) for name in ("pq", "rr"))
    blocks = [(i, j) for i in range(block_rows) for j in range(block_columns)]
    sums = 2 * (len(blocks) - 1)
    g.announce((6 * len(blocks) + sums) * iterations)
    for _ in range(iterations):
        for at in blocks:
            g.insert("pack", R(p[at]), *(W(edges[side][at]) for side in range(len(SIDES))), n=b)
        for at in blocks:
            halo = (R(edges[side][other]) for side, other in neighbours(at, shape))
            g.insert("stencil", R(p[at]), *halo, W(q[at]), n=b)
        for at in blocks:
            g.insert("dot", R(p[at]), R(q[at]), W(pq[at]), n=b)
        alpha = _summed(g, pq, blocks)
        for at in blocks:
            g.insert("axpy", R(alpha), R(p[at]), R(q[at]), RW(x[at]), RW(r[at]), n=b)
            g.insert("dot", R(r[at]), W(rr[at]), n=b)
        beta = _summed(g, rr, blocks)
        for at in blocks:
            g.insert("update", R(beta), R(r[at]), RW(p[at]), n=b)
    return g.build()


def neighbours(
    at: tuple[int, int], shape: tuple[int, int]
) -> Iterator[tuple[int, tuple[int, int]]]:
    """Yield the neighbours of a block, each with its side that faces *at*."""
    for side, (down, right) in enumerate(SIDES):
        row, column = at[0] - down, at[1] - right
        if 0 <= row < shape[0] and 0 <= column < shape[1]:
            yield side, (row, column)


def _summed(g: GraphBuilder, parts: Matrix, blocks: list[tuple[int, int]]) -> int:
    """Add up *parts* over a binomial tree; return the handle of the sum."""
    distance = 1
    while distance < len(blocks):
        for first in range(0, len(blocks) - distance, 2 * distance):
            g.insert("add", R(parts[blocks[first + distance]]), RW(parts[blocks[first]]))
        distance *= 2
    return parts[blocks[0]]
