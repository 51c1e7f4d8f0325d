"""Particles, groups of pairs of cells, and expansions of a fast multipole method."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.base.errors import InputError
from tasksim.graph.octree.interactions import m2l_pairs, neighbour_pairs
from tasksim.graph.octree.morton import decode
from tasksim.graph.octree.particles import all_positions
from tasksim.graph.octree.particles import charges as draw_charges
from tasksim.graph.octree.tree import tree_of_particles

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tasksim.base.arrays import Bools, Floats, Ints
    from tasksim.graph.octree.tree import CellTree
    from tasksim.graph.taskgraph import TaskGraph

    Rows = dict[int, Ints]

__all__ = [
    "TOP_LEVEL",
    "Data",
    "DatumGroups",
    "GroupedPairs",
    "Held",
    "Layout",
    "families",
    "layout_of",
    "m2l",
    "neighbours",
]

_ARGUMENTS = ("particles", "height", "group_size", "distribution", "order", "dimension", "seed")


@dataclass(frozen=True, eq=False)
class Layout:
    """Particles sorted by leaf, and the groups of cells of their tree.

    Attributes
    ----------
    tree : CellTree
    group_size : int
        Number of consecutive cells in a group; the last group of a level may have fewer.
    order : int
        Nodes of the interpolation per axis.
    positions : float64 array [d, n]
        Positions in the unit box, with the particles of the first leaf first.
    charges : float64 array [n]
    offsets : int64 array [leaves + 1]
        Particles ``offsets[i]`` to ``offsets[i + 1] - 1`` are in leaf i. A layout of some leaves
        has no particles in the others.
    """

    tree: CellTree
    group_size: int
    order: int
    positions: Floats
    charges: Floats
    offsets: Ints

    @classmethod
    def of_particles(
        cls, positions: Floats, charges: Floats, height: int, group_size: int, order: int
    ) -> Layout:
        """Return the layout of particles at *positions* [n, d], in any order.

        Raises
        ------
        InputError
            If there is no particle, one is outside the unit box, or the height is illegal.
        """
        tree, by_leaf = tree_of_particles(positions, height)
        return cls(
            tree=tree,
            # No level has more cells than there are leaves, so a larger size changes nothing.
            group_size=min(group_size, len(tree.counts)),
            order=order,
            positions=np.ascontiguousarray(positions[by_leaf].T),
            charges=charges[by_leaf],
            offsets=np.append(0, np.cumsum(tree.counts)),
        )

    @property
    def leaf_level(self) -> int:
        """The level of the leaves."""
        return self.tree.height - 1

    def width(self, level: int) -> float:
        """Return the width of the cells of *level*; the width of the box is 1."""
        return 1.0 / (1 << level)

    def cells(self, level: int, group: int) -> slice:
        """Return the slice of the cells of *level* that are in *group*."""
        first = group * self.group_size
        return slice(first, min(first + self.group_size, len(self.tree.levels[level])))

    def of_leaves(self, leaves: Bools) -> Layout:
        """Return the layout with only the particles of *leaves*, a mask."""
        counts = np.diff(self.offsets)
        kept = np.repeat(leaves, counts)
        return replace(
            self,
            positions=np.ascontiguousarray(self.positions[:, kept]),
            charges=self.charges[kept],
            offsets=np.append(0, np.cumsum(np.where(leaves, counts, 0))),
        )

    def relative_positions(self) -> Floats:
        """Return the positions [d, n] relative to their leaves, which are [-1, 1]^d."""
        corners = decode(self.tree.levels[-1], self.tree.dimension)
        # The division by a power of two and the subtraction of an integer are exact.
        of_leaf = self.positions / self.width(self.leaf_level)
        of_leaf -= np.repeat(corners, np.diff(self.offsets), axis=0).T
        return 2 * of_leaf - 1


def layout_of(graph: TaskGraph) -> Layout:
    """Return the layout of the particles of *graph*, a graph of the generator fmm.

    Raises
    ------
    InputError
        If an argument of the graph is missing.
    """
    missing = [name for name in _ARGUMENTS if name not in graph.arguments]
    if missing:
        raise InputError(
            f"graph {graph.name}: its arguments lack {', '.join(missing)}, so its particles are "
            "unknown; legal: a graph of generator fmm"
        )
    values: dict[str, Any] = graph.arguments
    count, seed = values["particles"], values["seed"]
    return Layout.of_particles(
        all_positions(values["distribution"], count, values["dimension"], seed),
        draw_charges(count, seed),
        values["height"],
        values["group_size"],
        values["order"],
    )


@dataclass(frozen=True, eq=False)
class GroupedPairs:
    """Pairs of a target and a source cell, sorted by the groups of both.

    Attributes
    ----------
    target, source : int64 array [pairs]
        Numbers of the cells.
    parts : dict of (int, int) -> slice
        Map from the groups of the target and the source to the slice of their pairs.
    """

    target: Ints
    source: Ints
    parts: dict[tuple[int, int], slice]

    def between(self, target: int, source: int) -> tuple[Ints, Ints]:
        """Return the targets and sources of all pairs of two groups."""
        part = self.parts.get((target, source), slice(0))
        return self.target[part], self.source[part]


def m2l(layout: Layout, level: int) -> GroupedPairs:
    """Return the interaction lists of the cells of *level*."""
    pairs = m2l_pairs(layout.tree, level)
    return _grouped(pairs.target, pairs.source, layout.group_size)


def neighbours(layout: Layout) -> GroupedPairs:
    """Return the pairs of distinct leaves that touch."""
    pairs = neighbour_pairs(layout.tree)
    return _grouped(pairs.target, pairs.source, layout.group_size)


def families(layout: Layout, level: int) -> GroupedPairs:
    """Return the pairs of a cell of *level*, the target, and one of its children, the source."""
    parents = layout.tree.parents(level + 1)
    return _grouped(parents, np.arange(len(parents)), layout.group_size)


def _grouped(
    target: NDArray[np.integer], source: NDArray[np.integer], group_size: int
) -> GroupedPairs:
    """Return the pairs sorted stably by the group of the target, then of the source."""
    groups = int(source.max(initial=0)) // group_size + 1
    # One number per pair of groups, because NumPy sorts one key faster than two.
    key = target.astype(np.int64) // group_size * groups + source // group_size
    order = np.argsort(key, kind="stable")
    keys, first = np.unique(key[order], return_index=True)
    of_groups = zip((keys // groups).tolist(), (keys % groups).tolist(), strict=True)
    parts = map(slice, first.tolist(), [*first[1:].tolist(), len(key)])
    return GroupedPairs(
        target[order].astype(np.int64),
        source[order].astype(np.int64),
        dict(zip(of_groups, parts, strict=True)),
    )


TOP_LEVEL = 2
"""The first level with expansions: on the levels above it, all cells touch."""


class DatumGroups:
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

    def cells(self, name: str, chosen: Callable[[int], bool]) -> Bools:
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

    up: dict[int, Bools]
    down: dict[int, Bools]
    leaves: Bools

    @classmethod
    def of(cls, groups: DatumGroups, layout: Layout, handles: NDArray[np.integer] | None) -> Held:
        """Return the cells that the data *handles* need, or all cells if *handles* is None."""
        wanted = None if handles is None else set(handles.tolist())

        def cells(name: str) -> Bools:
            return groups.cells(name, lambda handle: wanted is None or handle in wanted)

        levels = range(TOP_LEVEL, layout.tree.height)
        return cls(
            {level: cells(f"up[{level}]") for level in levels},
            {level: cells(f"down[{level}]") for level in levels},
            cells("part_symb") | cells("part_down"),
        )


@dataclass(frozen=True, eq=False)
class Data:
    """Expansions of cells, potentials and forces, the data that the tasks write.

    Attributes
    ----------
    multipoles, locals : dict of int -> float64 array [held cells, order^d]
        Per level from 2, the expansions of its held cells.
    up, down : dict of int -> int64 array [cells]
        Per level, the row of a held cell in these arrays.
    result : float64 array [1 + d, n]
        Potentials, then the components of forces, with particles in the order of the layout.
    """

    multipoles: dict[int, Floats]
    locals: dict[int, Floats]
    up: Rows
    down: Rows
    result: Floats

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

    def multipoles_of(self, level: int, cells: slice) -> Floats:
        """Return the multipole expansions of consecutive *cells* of a level."""
        return self.multipoles[level][_rows(self.up[level], cells)]

    def locals_of(self, level: int, cells: slice) -> Floats:
        """Return the local expansions of consecutive *cells* of a level."""
        return self.locals[level][_rows(self.down[level], cells)]

    def clear(self) -> None:
        """Set all data to zero."""
        for array in (*self.multipoles.values(), *self.locals.values(), self.result):
            array.fill(0.0)


def _rows(rows: Ints, cells: slice) -> slice:
    return slice(int(rows[cells.start]), int(rows[cells.stop - 1]) + 1)
