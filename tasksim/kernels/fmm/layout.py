"""Particles sorted by the leaves of their tree, and which cells of two groups work together."""

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
    """Particles sorted by leaf, and how the cells of their tree are grouped.

    Attributes
    ----------
    tree : Tree
    group_size : int
        Consecutive cells of a group; the last of a level may have fewer.
    order : int
        Nodes of the interpolation per axis.
    positions : float64 array [d, n]
        In the unit box; the particles of the first leaf come first.
    charges : float64 array [n]
    offsets : int64 array [leaves + 1]
        Particles ``offsets[i]`` to ``offsets[i + 1] - 1`` are in leaf i; where only the particles
        of some leaves are here, none in the others.
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
            There is no particle, one is not in the unit box, or the height is not legal.
        """
        tree, by_leaf = tree_of_particles(positions, height)
        return cls(
            tree=tree,
            # No level has more cells than there are leaves: groups could not be larger.
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
        """Return the width of the cells of *level*; the box's is 1."""
        return 1.0 / (1 << level)

    def cells(self, level: int, group: int) -> slice:
        """Return which cells of *level* are in *group*."""
        first = group * self.group_size
        return slice(first, min(first + self.group_size, len(self.tree.levels[level])))

    def of_leaves(self, leaves: NDArray[np.bool_]) -> Layout:
        """Return the same with the particles of these *leaves* only."""
        counts = np.diff(self.offsets)
        kept = np.repeat(leaves, counts)
        return replace(
            self,
            positions=np.ascontiguousarray(self.positions[:, kept]),
            charges=self.charges[kept],
            offsets=np.append(0, np.cumsum(np.where(leaves, counts, 0))),
        )

    def relative_positions(self) -> NDArray[np.float64]:
        """Return the positions [d, n] relative to their leaves, each of which is [-1, 1]^d."""
        corners = decode(self.tree.levels[-1], self.tree.dimension)
        # Division by a power of two and taking the integer off are exact.
        of_leaf = self.positions / self.width(self.leaf_level)
        of_leaf -= np.repeat(corners, np.diff(self.offsets), axis=0).T
        return 2 * of_leaf - 1


def layout_of(graph: TaskGraph) -> Layout:
    """Return the layout of the particles that the arguments of *graph*, an fmm, stand for.

    Raises
    ------
    InputError
        An argument is missing.
    """
    missing = [name for name in _ARGUMENTS if name not in graph.arguments]
    if missing:
        raise InputError(
            f"graph {graph.name}: its arguments lack {', '.join(missing)}, so its particles are "
            "not known; expected those of generator fmm"
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
    """Pairs of a target and a source cell, those of the same two groups side by side.

    Attributes
    ----------
    target, source : int64 array [pairs]
        Numbers of the cells.
    parts : dict of (int, int) -> slice
        Groups of the target and of the source -> where their pairs are.
    """

    target: Int64
    source: Int64
    parts: dict[tuple[int, int], slice]

    def between(self, target: int, source: int) -> tuple[Int64, Int64]:
        """Return targets and sources of all pairs of two groups, given by their numbers."""
        part = self.parts.get((target, source), slice(0))
        return self.target[part], self.source[part]


def m2l(layout: Layout, level: int) -> GroupedPairs:
    """Return the interaction lists of the cells of *level*."""
    return _of_one_level(layout, m2l_pairs(layout.tree, level))


def neighbours(layout: Layout) -> GroupedPairs:
    """Return the pairs of different leaves that touch."""
    return _of_one_level(layout, neighbour_pairs(layout.tree))


def families(layout: Layout, level: int) -> GroupedPairs:
    """Return the cells of *level*, the targets, with their children, the sources."""
    parents = layout.tree.parents(level + 1)
    return _grouped(parents, np.arange(len(parents)), layout.group_size)


def _of_one_level(layout: Layout, pairs: Pairs) -> GroupedPairs:
    return _grouped(pairs.target, pairs.source, layout.group_size)


def _grouped(
    target: NDArray[np.integer], source: NDArray[np.integer], group_size: int
) -> GroupedPairs:
    """Return the pairs sorted by group of the target, then of the source, then as they were."""
    groups = int(source.max(initial=0)) // group_size + 1
    # One number per pair of groups: NumPy sorts that faster than two.
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
