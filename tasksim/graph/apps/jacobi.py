"""Jacobi iteration on a grid in blocks, with halos between neighbours only."""

from __future__ import annotations

from tasksim.graph.apps.conjugate_gradient import ITEM_BYTES, SIDES, neighbours
from tasksim.graph.apps.parameters import Count  # noqa: TC001 - read at run time
from tasksim.graph.apps.registry import generator
from tasksim.graph.builder import GraphBuilder, R, W
from tasksim.graph.taskgraph import TaskGraph  # noqa: TC001 - read at run time

__all__ = ["jacobi"]


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
    edges = [
        g.matrix(f"edge{side}", *shape, size_bytes=b * ITEM_BYTES) for side in range(len(SIDES))
    ]
    blocks = [(i, j) for i in range(block_rows) for j in range(block_columns)]
    g.announce(2 * len(blocks) * iterations)
    for _ in range(iterations):
        for at in blocks:
            g.insert("pack", R(x[at]), *(W(edges[side][at]) for side in range(len(SIDES))), n=b)
        for at in blocks:
            halo = (R(edges[side][other]) for side, other in neighbours(at, shape))
            g.insert("relax", R(x[at]), *halo, W(y[at]), n=b)
        x, y = y, x
    return g.build()
