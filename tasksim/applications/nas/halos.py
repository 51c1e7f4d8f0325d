"""Halos of square blocks: edges that neighbours read, and empty edges at the border."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.applications.foreign import compiled_in
from tasksim.applications.kernel import kernel
from tasksim.graph.access_codes import R, W
from tasksim.graph.apps.stencils import SIDES

if TYPE_CHECKING:
    from tasksim.applications.data import Datum, DatumMatrix
    from tasksim.applications.flow import TaskFlow

__all__ = ["Halos", "relaxed", "whole_grid"]

LOOPS_MODULE = "tasksim.kernels.grids.loops"
"""Module of the compiled kernels."""

PACK = kernel(
    compiled_in(LOOPS_MODULE, "pack"), name="pack",
    operands={"x": R, "up": W, "down": W, "left": W, "right": W},
    arguments="x up down left right x.shape0:int64", parameters=lambda x: {"n": x.shape[0]},
)  # fmt: skip
RELAX = kernel(
    compiled_in(LOOPS_MODULE, "relax"), name="relax",
    operands={"y": W, "x": R, "above": R, "below": R, "left": R, "right": R},
    arguments="y x above below left right y.shape0:int64", parameters=lambda y: {"n": y.shape[0]},
)  # fmt: skip


class Halos:
    """Edges of the square blocks of a grid, and the steps that relax it.

    Parameters
    ----------
    g : TaskFlow
    name : str
        Prefix of the names of the data.
    rows, columns : int
        Numbers of blocks.
    points : int
        Number of points along the edge of a block.

    Attributes
    ----------
    blocks : list of tuple of int
        Row and column of each block.
    """

    def __init__(self, g: TaskFlow, name: str, rows: int, columns: int, points: int) -> None:
        self._g = g
        self._edges = [
            g.tiles(f"{name}{side}", rows, columns, (points,))
            for side in ("up", "down", "left", "right")
        ]
        # Constant zeros beyond the border of the grid.
        self._border = g.tiles(f"{name}border", rows, columns, (points,))
        self.blocks = [(i, j) for i in range(rows) for j in range(columns)]
        self._shape = rows, columns

    @property
    def tasks(self) -> int:
        """Number of tasks of a step."""
        return 2 * len(self.blocks)

    def relax(self, x: DatumMatrix, y: DatumMatrix) -> None:
        """Insert a step, which sets each point of *y* to the mean of its neighbours in *x*."""
        for at in self.blocks:
            self._g.insert(PACK, x[at], *(edges[at] for edges in self._edges))
        for at in self.blocks:
            self._g.insert(RELAX, y[at], x[at], *(self._beside(at, side) for side in range(4)))

    def _beside(self, at: tuple[int, int], side: int) -> Datum:
        """Return the edge beyond *side* of the block *at*; it is zero at the border."""
        row, column = at[0] + SIDES[side][0], at[1] + SIDES[side][1]
        if 0 <= row < self._shape[0] and 0 <= column < self._shape[1]:
            # The neighbour above gives its lower edge, and so on: opposite sides differ in one bit.
            return self._edges[side ^ 1][row, column]
        return self._border[at]


def whole_grid(tiles: Any) -> Any:
    """Return the grid that consists of *tiles*."""
    return np.block([list(row) for row in tiles])


def relaxed(x: Any) -> Any:
    """Return the mean of the four neighbours of each point; those outside the grid are 0."""
    wide = np.pad(x, 1)
    return 0.25 * (wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] + wide[1:-1, 2:])
