"""Data of a fast multipole method in memory: expansions and results of all or some groups."""

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
"""The first level with expansions: on the levels above it, all cells touch."""


class Groups:
    """The level and the group of cells of each datum of a graph.

    Parameters
    ----------
    graph : TaskGraph
    layout : Layout

    Attributes
    ----------
    level, group : int64 array [handles]
        The level and the group of each datum.

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
            raise InputError(f"graph {graph.name} has data {got}; legal: {', '.join(levels)}")
        for name, block in self.blocks.items():
            groups = layout.tree.groups(levels[name], layout.group_size)
            if block.rows != groups:
                raise InputError(
                    f"graph {graph.name}: {name} has {block.rows} groups; its particles need"
                    f" {groups}"
                )
            self.level[block.first : block.end] = levels[name]
            self.group[block.first : block.end] = np.arange(groups)

    def cells(self, name: str, chosen: Callable[[int], bool]) -> Cells:
        """Return, per cell of the level, whether it is in *chosen* data of the block *name*."""
        block = self.blocks[name]
        groups = np.array([chosen(handle) for handle in range(block.first, block.end)], np.bool_)
        level = int(self.level[block.first])
        of_cells = np.repeat(groups, self._layout.group_size)
        return of_cells[: len(self._layout.tree.levels[level])]


@dataclass(frozen=True, eq=False)
class Held:
    """The cells whose data have memory.

    Attributes
    ----------
    up, down : dict of int -> bool array [cells]
        Per level, the cells with multipole expansions, and those with local expansions.
    leaves : bool array [leaves]
        The leaves with particles.
    """

    up: dict[int, Cells]
    down: dict[int, Cells]
    leaves: Cells

    @classmethod
    def of(cls, groups: Groups, layout: Layout, handles: NDArray[np.integer] | None) -> Held:
        """Return the cells that the data *handles* need, or all cells if *handles* is None."""
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
    """The data that the tasks write: expansions of cells, potentials and forces.

    Attributes
    ----------
    multipoles, locals : dict of int -> float64 array [held cells, order^d]
        Per level from 2, the expansions of its held cells.
    up, down : dict of int -> int64 array [cells]
        Per level, the row of a held cell in these arrays.
    result : float64 array [1 + d, n]
        Potentials, then the components of forces, with particles in the order of the layout.
    """

    multipoles: dict[int, Real]
    locals: dict[int, Real]
    up: Rows
    down: Rows
    result: Real

    @classmethod
    def of(cls, layout: Layout, held: Held) -> Data:
        """Return zeros of the right shapes; *layout* has the held particles."""
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
        """Set all data to zero."""
        for array in (*self.multipoles.values(), *self.locals.values(), self.result):
            array.fill(0.0)


def _rows(rows: NDArray[np.int64], cells: slice) -> slice:
    return slice(int(rows[cells.start]), int(rows[cells.stop - 1]) + 1)
