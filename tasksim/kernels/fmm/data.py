"""Data of a fast multipole method in memory: expansions and results, of all groups or of some."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.kernels.fmm.layout import Layout

    Real = NDArray[np.float64]
    Cells = NDArray[np.bool_]
    Rows = dict[int, NDArray[np.int64]]

__all__ = ["TOP_LEVEL", "Data", "Groups", "Held"]

TOP_LEVEL = 2
"""On the levels above, all cells touch: they have no expansions."""


class Groups:
    """Which group of cells, of which level, each datum of a graph is.

    Parameters
    ----------
    graph : TaskGraph
    layout : Layout

    Attributes
    ----------
    level, group : int64 array [handles]
        Of each datum.

    Raises
    ------
    InputError
        If the graph has other groups of data than the layout.
    """

    def __init__(self, graph: TaskGraph, layout: Layout) -> None:
        self.level, self.group = np.zeros((2, graph.handles), dtype=np.int64)
        self.blocks = {block.name: block for block in graph.handle_blocks}
        self._layout = layout
        of_cells = {
            f"{name}[{i}]": i
            for i in range(TOP_LEVEL, layout.tree.height)
            for name in ("symb", "up", "down")
        }
        levels = of_cells | dict.fromkeys(("part_symb", "part_down"), layout.leaf_level)
        if self.blocks.keys() != levels.keys():
            got = ", ".join(self.blocks)
            raise InputError(f"graph {graph.name} has data {got}; expected {', '.join(levels)}")
        for name, block in self.blocks.items():
            groups = layout.tree.groups(levels[name], layout.group_size)
            if block.rows != groups:
                raise InputError(
                    f"graph {graph.name}: {name} has {block.rows} groups, its particles {groups}"
                )
            self.level[block.first : block.end] = levels[name]
            self.group[block.first : block.end] = np.arange(groups)

    def cells(self, name: str, chosen: Callable[[int], bool]) -> Cells:
        """Return which cells of their level are in the *chosen* data of the block *name*."""
        block = self.blocks[name]
        groups = np.array([chosen(handle) for handle in range(block.first, block.end)], np.bool_)
        level = int(self.level[block.first])
        of_cells = np.repeat(groups, self._layout.group_size)
        return of_cells[: len(self._layout.tree.levels[level])]


@dataclass(frozen=True, eq=False)
class Held:
    """Of which cells the data have memory.

    Attributes
    ----------
    up, down : dict of int -> bool array [cells]
        Per level, whose multipole and whose local expansions.
    leaves : bool array [leaves]
        Whose particles.
    """

    up: dict[int, Cells]
    down: dict[int, Cells]
    leaves: Cells

    @classmethod
    def of(cls, groups: Groups, layout: Layout, handles: NDArray[np.integer] | None) -> Held:
        """Return what the data *handles* need; all, if that is None."""
        wanted = None if handles is None else set(handles.tolist())

        def cells(name: str) -> Cells:
            return groups.cells(name, lambda handle: wanted is None or handle in wanted)

        levels = range(TOP_LEVEL, layout.tree.height)
        return cls(
            {level: cells(f"up[{level}]") for level in levels},
            {level: cells(f"down[{level}]") for level in levels},
            cells("part_symb") | cells("part_down"),
        )


@dataclass(frozen=True, eq=False)
class Data:
    """The data that the tasks write: expansions of cells, and the result.

    Attributes
    ----------
    multipoles, locals : dict of int -> float64 array [cells that are held, order^d]
        Per level from 2, the expansions of its cells.
    up, down : dict of int -> int64 array [cells]
        Per level, in which row of these the expansions of a cell are that is held.
    result : float64 array [1 + d, n]
        Potentials, then the components of forces; particles in the order of the layout.
    """

    multipoles: dict[int, Real]
    locals: dict[int, Real]
    up: Rows
    down: Rows
    result: Real

    @classmethod
    def of(cls, layout: Layout, held: Held) -> Data:
        """Return zeros of the right shapes; the particles of *layout* are those that are held."""
        size = layout.order**layout.tree.dimension
        multipoles, locals_ = (
            {level: np.zeros((int(cells.sum()), size)) for level, cells in of_levels.items()}
            for of_levels in (held.up, held.down)
        )
        up, down = (
            {level: np.cumsum(cells) - 1 for level, cells in of_levels.items()}
            for of_levels in (held.up, held.down)
        )
        result = np.zeros((1 + layout.tree.dimension, len(layout.charges)))
        return cls(multipoles, locals_, up, down, result)

    def multipoles_of(self, level: int, cells: slice) -> Real:
        """Return the multipole expansions of consecutive *cells* of a level."""
        return self.multipoles[level][_rows(self.up[level], cells)]

    def locals_of(self, level: int, cells: slice) -> Real:
        """Return the local expansions of consecutive *cells* of a level."""
        return self.locals[level][_rows(self.down[level], cells)]

    def clear(self) -> None:
        """Make everything zero again."""
        for array in (*self.multipoles.values(), *self.locals.values(), self.result):
            array.fill(0.0)


def _rows(rows: NDArray[np.int64], cells: slice) -> slice:
    return slice(int(rows[cells.start]), int(rows[cells.stop - 1]) + 1)
