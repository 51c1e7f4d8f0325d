"""Conjugate gradients and Jacobi iteration on a grid in blocks, with halos between neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tasksim.graph.apps.parameters import Count  # noqa: TC001 - read at run time
from tasksim.graph.apps.registry import generator
from tasksim.graph.builder import RW, GraphBuilder, R, W
from tasksim.graph.taskgraph import TaskGraph  # noqa: TC001 - read at run time

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tasksim.graph.handles import Matrix

__all__ = ["SIDES", "conjugate_gradient", "jacobi"]

SIDES: Final = ((-1, 0), (1, 0), (0, -1), (0, 1))
"""Steps to the neighbours of a block, in rows and columns: above, below, left, right."""
ITEM_BYTES: Final = 8


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
    x, r, p, q = (g.matrix(name, *shape, size_bytes=b * b * ITEM_BYTES) for name in "xrpq")
    edges = _edges(g, shape, b)
    pq, rr = (g.matrix(name, *shape, size_bytes=ITEM_BYTES) for name in ("pq", "rr"))
    blocks = _blocks(shape)
    sums = 2 * (len(blocks) - 1)
    g.announce((6 * len(blocks) + sums) * iterations)
    for _ in range(iterations):
        _stencil(g, "stencil", p, q, edges, b)
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


@generator("jacobi")
def jacobi(
    block_rows: Count, block_columns: Count, block_size: Count = 256, iterations: Count = 10
) -> TaskGraph:
    """Steps of a stencil of five points over a grid, in blocks.

    In each step *pack* copies the edges of a block, and *relax* reads those of its neighbours and
    replaces each point by the mean of its four neighbours. Nodes wait only for their neighbours.

    Parameters
    ----------
    block_rows, block_columns
        Number of rows and of columns of blocks.
    block_size
        Points in a row and in a column of a block.
    iterations
        Number of steps.
    """
    b, shape = block_size, (block_rows, block_columns)
    g = GraphBuilder("jacobi")
    x, y = (g.matrix(name, *shape, size_bytes=b * b * ITEM_BYTES) for name in "xy")
    edges = _edges(g, shape, b)
    g.announce(2 * block_rows * block_columns * iterations)
    for _ in range(iterations):
        _stencil(g, "relax", x, y, edges, b)
        x, y = y, x
    return g.build()


def _blocks(shape: tuple[int, int]) -> list[tuple[int, int]]:
    return [(i, j) for i in range(shape[0]) for j in range(shape[1])]


def _edges(g: GraphBuilder, shape: tuple[int, int], size: int) -> list[Matrix]:
    """Register a copy of each block's edge per side, for its neighbour there."""
    return [g.matrix(f"edge{s}", *shape, size_bytes=size * ITEM_BYTES) for s in range(len(SIDES))]


def _stencil(
    g: GraphBuilder, kernel: str, source: Matrix, target: Matrix, edges: list[Matrix], size: int
) -> None:
    """Insert the tasks that copy the edges of all blocks, and read them to make the new blocks."""
    shape = source.rows, source.columns
    for at in _blocks(shape):
        g.insert("pack", R(source[at]), *(W(edge[at]) for edge in edges), n=size)
    for at in _blocks(shape):
        halo = (R(edges[side][other]) for side, other in _neighbours(at, shape))
        g.insert(kernel, R(source[at]), *halo, W(target[at]), n=size)


def _neighbours(
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
