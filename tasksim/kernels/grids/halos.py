"""Halos of blocks: the edges of neighbours that a task on one block reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.kernels.grids.blocks import Blocks

__all__ = ["FACING_SIDES", "Halos", "whole_grid"]

FACING_SIDES = (1, 0, 3, 2)
"""The side that faces a block, of its neighbour above, below, left and right: the lower, upper,
right and left edge."""


class Halos:
    """The edges that tasks read, with zeros at the border of the grid.

    Parameters
    ----------
    blocks : Blocks
        Blocks with the matrices ``edge0`` to ``edge3``: the upper, lower, left and right edges.
    size : int
        The number of points of an edge.
    """

    def __init__(self, blocks: Blocks, size: int) -> None:
        self._blocks = blocks
        self._nothing = np.zeros(size)
        self._side = {}
        for side in range(len(FACING_SIDES)):
            block = blocks.block(f"edge{side}")
            self._side.update(dict.fromkeys(range(block.first, block.end), side))

    def addresses(self, handles: list[int]) -> list[int]:
        """Return the addresses of the values above, below, left and right.

        *handles* may contain other data. Raises :exc:`InputError` if two edges face the same side.
        """
        found = {}
        for handle in handles:
            if handle in self._side:
                side = self._side[handle]
                if side in found:
                    raise InputError("a block has two neighbours on one side")
                found[side] = int(self._blocks.addresses[handle])
        return [found.get(side, self._nothing.ctypes.data) for side in FACING_SIDES]


def whole_grid(graph: TaskGraph, blocks: Blocks, name: str, size: int) -> NDArray[np.float64]:
    """Return the matrix *name* as one grid; this process must have all its blocks."""
    block = blocks.block(name)
    rows, columns = block.rows, block.columns or 1
    found = np.empty((rows * size, columns * size))
    for row in range(rows):
        for column in range(columns):
            data = blocks.array(blocks.handle(name, row, column))
            if data is None:
                raise InputError(
                    f"graph {graph.name}: {name}[{row}, {column}] is on another process"
                )
            place = np.s_[row * size : (row + 1) * size, column * size : (column + 1) * size]
            found[place] = data[: size * size].reshape(size, size)
    return found
