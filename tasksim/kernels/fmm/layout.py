"""Particles sorted by the leaves of their tree, and interacting pairs of cells by groups."""

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
    from numpy.typing import NDArray

    from tasksim.graph.octree.interactions import Pairs
    from tasksim.graph.octree.tree import Tree
    from tasksim.graph.taskgraph import TaskGraph

    Int64 = NDArray[np.int64]

__all__ = ["GroupedPairs", "Layout", "families", "layout_of", "m2l", "neighbours"]

_ARGUMENTS = ("particles", "height", "group_size", "distribution", "order", "dimension", "seed")


@dataclass(frozen=True, eq=False)
class Layout:
    """Particles sorted by leaf, and the groups of cells of their tree.

    Attributes
    ----------
    tree : Tree
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

    tree: Tree
    group_size: int
    order: int
    positions: NDArray[np.float64]
    charges: NDArray[np.float64]
    offsets: Int64

    @classmethod
    def of_particles(
        cls,
        positions: NDArray[np.float64],
        charges: NDArray[np.float64],
        height: int,
        group_size: int,
        order: int,
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

    def of_leaves(self, leaves: NDArray[np.bool_]) -> Layout:
        """Return the layout with only the particles of *leaves*, a mask."""
        counts = np.diff(self.offsets)
        kept = np.repeat(leaves, counts)
        return replace(
            self,
            positions=np.ascontiguousarray(self.positions[:, kept]),
            charges=self.charges[kept],
            offsets=np.append(0, np.cumsum(np.where(leaves, counts, 0))),
        )

    def relative_positions(self) -> NDArray[np.float64]:
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

    target: Int64
    source: Int64
    parts: dict[tuple[int, int], slice]

    def between(self, target: int, source: int) -> tuple[Int64, Int64]:
        """Return the targets and sources of all pairs of two groups."""
        part = self.parts.get((target, source), slice(0))
        return self.target[part], self.source[part]


def m2l(layout: Layout, level: int) -> GroupedPairs:
    """Return the interaction lists of the cells of *level*."""
    return _of_one_level(layout, m2l_pairs(layout.tree, level))


def neighbours(layout: Layout) -> GroupedPairs:
    """Return the pairs of distinct leaves that touch."""
    return _of_one_level(layout, neighbour_pairs(layout.tree))


def families(layout: Layout, level: int) -> GroupedPairs:
    """Return the pairs of a cell of *level*, the target, and one of its children, the source."""
    parents = layout.tree.parents(level + 1)
    return _grouped(parents, np.arange(len(parents)), layout.group_size)


def _of_one_level(layout: Layout, pairs: Pairs) -> GroupedPairs:
    return _grouped(pairs.target, pairs.source, layout.group_size)


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
