"""Passes of the fast multipole method over groups of cells; see :mod:`~tasksim.graph.apps.fmm`.

Every level is cut into groups on its own, so that a group of parents may have children in several
groups, and a group of children parents in several groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.graph.builder import RW, Commute, R
from tasksim.graph.counting import counting
from tasksim.graph.octree.interactions import (
    COUNTED_M2L,
    COUNTED_P2P,
    m2l_groups,
    neighbour_groups,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tasksim.graph.builder import GraphBuilder, Vector
    from tasksim.graph.csr import Int64
    from tasksim.graph.octree.interactions import GroupPairs
    from tasksim.graph.octree.tree import CellTree

__all__ = ["KERNELS", "TOP_LEVEL", "Passes", "groups_of", "priorities"]

KERNELS = ("P2P_out", "P2P_in", "P2M", "M2M", "M2L_in", "M2L_out", "L2L", "L2P")
TOP_LEVEL = 2
"""Number of the first level with far interactions: above, all cells touch."""


@dataclass(frozen=True, eq=False)
class LevelGroups:
    """The groups of one level.

    Attributes
    ----------
    cells
        int64 [groups]: the number of cells of each.
    interval
        int64 [groups]: the number of Morton indices from its first cell to its last, both included;
        not all of them have a cell.
    """

    cells: Int64
    interval: Int64


@dataclass(frozen=True, eq=False)
class Family:
    """Sorted pairs of a group of parents and a group of their children.

    Attributes
    ----------
    parent, child
        int64 [pairs]: the groups' numbers, each on its own level.
    parent_cells
        int64 [pairs]: the number of cells of the parent group with a child in the child group.
    links
        int64 [pairs]: the number of (parent, child) pairs of cells, that is, of those children.
    """

    parent: Int64
    child: Int64
    parent_cells: Int64
    links: Int64


def groups_of(tree: CellTree, level: int, group_size: int) -> LevelGroups:
    """Return the groups of *group_size* cells of *level*; the last may be smaller.

    Raises
    ------
    InputError
        If there is no such level, or *group_size* is less than 1.
    """
    index = tree.levels[level]
    first = group_size * np.arange(tree.groups(level, group_size))
    last = np.append(first[1:], len(index)) - 1
    return LevelGroups(cells=last - first + 1, interval=index[last] - index[first] + 1)


def sum_per_group(values: Int64, group_size: int) -> Int64:
    """Return the sums over each group of *values*, one per cell."""
    sums: Int64 = np.add.reduceat(values, np.arange(0, len(values), group_size))
    return sums


def families(tree: CellTree, level: int, group_size: int) -> Family:
    """Return the pairs of groups of *level* and the level below with parents and children."""
    parents = tree.parents(level + 1).astype(np.int64)
    parent = parents // group_size
    child = np.arange(len(parents)) // group_size
    # Both ascend from cell to cell, so the cells of a pair of groups are consecutive.
    changes = (np.diff(parent) != 0) | (np.diff(child) != 0)
    first = np.append(0, np.flatnonzero(changes) + 1)
    end = np.append(first[1:], len(parents))
    with counting("NbDiff", "NbChildParent", kernels=("M2M", "L2L")):
        # Every cell above the leaves has children, so cells between two parents are parents, too.
        parent_cells, links = parents[end - 1] - parents[first] + 1, end - first
    return Family(parent[first], child[first], parent_cells, links)


def of_own_pairs(pairs: GroupPairs, values: Int64, groups: int) -> Int64:
    """Return the value of each group with itself, from *values*, one per pair of groups."""
    inside: NDArray[np.bool_] = pairs.target == pairs.source
    result = np.zeros(groups, dtype=np.int64)
    result[pairs.target[inside]] = values[inside]
    return result


def priorities(height: int) -> dict[tuple[str, int], int]:
    """Return kernel and level -> priority; kernels of particles are on the leaves' level."""
    leaves = height - 1
    urgent_first = [
        ("P2M", leaves),
        *(("M2M", level) for level in range(leaves - 1, TOP_LEVEL - 1, -1)),
        ("P2P_in", leaves),
        *(
            (kernel, level)
            for level in range(TOP_LEVEL, leaves)
            for kernel in ("M2L_in", "M2L_out", "L2L")
        ),
        ("P2P_out", leaves),
        ("M2L_in", leaves),
        ("M2L_out", leaves),
        ("L2P", leaves),
    ]
    return {key: priority for priority, key in enumerate(reversed(urgent_first))}


@dataclass(frozen=True)
class _Cells:
    """Groups of cells of a level, with their sizes and data."""

    cells: list[int]
    interval: list[int]
    symb: Vector
    up: Vector
    down: Vector

    def __len__(self) -> int:
        return len(self.cells)


@dataclass(frozen=True)
class _Particles:
    """Groups of particles of the leaves, with their sizes and data."""

    leaves: list[int]
    interval: list[int]
    particles: list[int]
    symb: Vector
    down: Vector

    def __len__(self) -> int:
        return len(self.leaves)


class Passes:
    """Builder of the tasks, one pass over the tree after the other."""

    def __init__(self, g: GraphBuilder, tree: CellTree, group_size: int, order: int) -> None:
        self.g, self.tree, self.order = g, tree, order
        # No level has more cells than leaves, so larger groups do not exist.
        self.group_size = min(group_size, len(tree.counts))
        self.leaf_level = tree.height - 1
        self.priority = priorities(tree.height)
        self.sizes: list[Int64] = []
        self.levels = {
            level: self._register_cells(level) for level in range(TOP_LEVEL, tree.height)
        }
        self.particles = self._register_particles()

    def insert(self) -> None:
        """Insert all tasks, in ScalFMM's order."""
        near = neighbour_groups(self.tree, self.group_size)
        far = m2l_groups(self.tree, self.leaf_level, self.group_size) if self.levels else None
        self._announce(near, far)
        self._direct(near)
        if far is None:
            return
        self._p2m()
        for level in range(self.leaf_level - 1, TOP_LEVEL - 1, -1):
            self._m2m(level)
        for level in range(TOP_LEVEL, self.leaf_level):
            self._m2l(level, m2l_groups(self.tree, level, self.group_size))
        for level in range(TOP_LEVEL, self.leaf_level):
            self._l2l(level)
        self._m2l(self.leaf_level, far)
        self._l2p()

    def _announce(self, near: GroupPairs, far: GroupPairs | None) -> None:
        """Say about how many tasks there will be, from the pairs of the leaves alone."""
        groups = len(self.particles)
        tasks = int((near.source < near.target).sum()) + groups
        if far is not None:
            upper = 1 / (2**self.tree.dimension - 1)  # cells of all upper levels per leaf
            passes = 2 * int((far.source < far.target).sum()) + groups
            tasks += 2 * groups + round((1 + upper) * (passes + 2 * groups))
        self.g.announce(tasks)

    def _register_cells(self, level: int) -> _Cells:
        groups = groups_of(self.tree, level, self.group_size)
        expansion = 8 * self.order**self.tree.dimension
        symb, up, down = (
            self._register(f"{name}[{level}]", groups.cells, item)
            for name, item in (("symb", 8), ("up", expansion), ("down", expansion))
        )
        return _Cells(groups.cells.tolist(), groups.interval.tolist(), symb, up, down)

    def _register_particles(self) -> _Particles:
        groups = groups_of(self.tree, self.leaf_level, self.group_size)
        particles = sum_per_group(self.tree.counts, self.group_size)
        # Positions and the charge; the force and the potential.
        symb, down = (
            self._register(name, particles, 8 * (self.tree.dimension + 1))
            for name in ("part_symb", "part_down")
        )
        return _Particles(
            groups.cells.tolist(), groups.interval.tolist(), particles.tolist(), symb, down
        )

    def _register(self, name: str, items: Int64, item_bytes: int) -> Vector:
        """Register a datum per group, with its number of items of *item_bytes* each."""
        # A vector's handles have one size; graph_of_tree inserts the sizes kept here.
        self.sizes.append(items * item_bytes)
        return self.g.vector(name, len(items), size_bytes=0)

    def _direct(self, pairs: GroupPairs) -> None:
        """P2P: particles of leaves that touch; out, then in."""
        leaf, priority = self.particles, self.priority["P2P_out", self.leaf_level]
        for a, b, size, cells, other_cells, work in _outside(pairs):
            self.g.insert(
                "P2P_out",
                R(leaf.symb[a]), Commute(leaf.down[a]), R(leaf.symb[b]), Commute(leaf.down[b]),
                priority=priority,
                NbLeaves=leaf.leaves[a],
                SizeInterval=leaf.interval[a],
                NbParticles=leaf.particles[a],
                iNbLeaves=leaf.leaves[b],
                iSizeInterval=leaf.interval[b],
                iNbParticles=leaf.particles[b],
                OutsideInteractionsSize=size,
                NbDiff0=cells,
                NbDiff1=other_cells,
                NbInteractions=work,
            )  # fmt: skip
        priority = self.priority["P2P_in", self.leaf_level]
        with counting(*COUNTED_P2P[1], kernels=COUNTED_P2P[0]):
            inside = of_own_pairs(pairs, pairs.work, len(leaf)) + sum_per_group(
                self.tree.counts**2, self.group_size
            )
        for i, work in enumerate(inside.tolist()):
            self.g.insert(
                "P2P_in", R(leaf.symb[i]), Commute(leaf.down[i]),
                priority=priority,
                NbLeaves=leaf.leaves[i],
                SizeInterval=leaf.interval[i],
                NbParticles=leaf.particles[i],
                NbInteractions=work,
            )  # fmt: skip

    def _p2m(self) -> None:
        """P2M: expansions of the leaves from their particles."""
        leaf, cell = self.particles, self.levels[self.leaf_level]
        priority = self.priority["P2M", self.leaf_level]
        for i in range(len(leaf)):
            self.g.insert(
                "P2M", R(cell.symb[i]), RW(cell.up[i]), R(leaf.symb[i]),
                priority=priority, **self._leaf_parameters(i),
            )  # fmt: skip

    def _l2p(self) -> None:
        """L2P: potentials and forces of particles from the expansions of their leaves."""
        leaf, cell = self.particles, self.levels[self.leaf_level]
        priority = self.priority["L2P", self.leaf_level]
        for i in range(len(leaf)):
            self.g.insert(
                "L2P", R(cell.symb[i]), R(cell.down[i]), R(leaf.symb[i]), Commute(leaf.down[i]),
                priority=priority, **self._leaf_parameters(i),
            )  # fmt: skip

    def _leaf_parameters(self, i: int) -> dict[str, Any]:
        leaf = self.particles
        return {
            "NbCells": leaf.leaves[i],
            "SizeInterval": leaf.interval[i],
            "NbParticles": leaf.particles[i],
            "Order": self.order,
        }

    def _m2m(self, level: int) -> None:
        """M2M: multipole expansions of the cells of *level* from those of their children."""
        above, below = self.levels[level], self.levels[level + 1]
        priority = self.priority["M2M", level]
        for parent, child, parameters in self._families(level):
            self.g.insert(
                "M2M",
                R(above.symb[parent]), Commute(above.up[parent]),
                R(below.symb[child]), R(below.up[child]),
                priority=priority, **parameters,
            )  # fmt: skip

    def _l2l(self, level: int) -> None:
        """L2L: local expansions of the children of *level* from those of their parents."""
        above, below = self.levels[level], self.levels[level + 1]
        priority = self.priority["L2L", level]
        update = RW if level + 1 == self.leaf_level else Commute
        for parent, child, parameters in self._families(level):
            self.g.insert(
                "L2L",
                R(above.symb[parent]), R(above.down[parent]),
                R(below.symb[child]), update(below.down[child]),
                priority=priority, **parameters,
            )  # fmt: skip

    def _families(self, level: int) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """Yield a group of *level*, one with children of its cells, and the parameters."""
        above, below = self.levels[level], self.levels[level + 1]
        family = families(self.tree, level, self.group_size)
        columns = (family.parent, family.child, family.parent_cells, family.links)
        for parent, child, cells, links in zip(*(c.tolist() for c in columns), strict=True):
            parameters = {
                "Level": level,
                "NbCells": above.cells[parent],
                "SizeInterval": above.interval[parent],
                "iNbCells": below.cells[child],
                "iSizeInterval": below.interval[child],
                "NbDiff": cells,
                "NbChildParent": links,
                "Order": self.order,
            }
            yield parent, child, parameters

    def _m2l(self, level: int, pairs: GroupPairs) -> None:
        """M2L: local expansions of the cells of *level* from multipole expansions afar."""
        cell, priority = self.levels[level], self.priority["M2L_in", level]
        with counting(*COUNTED_M2L[1], kernels=COUNTED_M2L[0]):
            inside = of_own_pairs(pairs, pairs.pairs, len(cell))
        for i, interactions in enumerate(inside.tolist()):
            self.g.insert(
                "M2L_in", R(cell.symb[i]), R(cell.up[i]), Commute(cell.down[i]),
                priority=priority,
                Level=level,
                NbCells=cell.cells[i],
                SizeInterval=cell.interval[i],
                NbInteractions=interactions,
                Order=self.order,
            )  # fmt: skip
        for a, b, size, cells, other_cells, _ in _outside(pairs):
            self._m2l_out(level, a, b, size, cells, other_cells)
            # Interactions are mutual: both directions have the same pairs of cells.
            self._m2l_out(level, b, a, size, other_cells, cells)

    def _m2l_out(
        self, level: int, target: int, source: int, size: int, cells: int, other_cells: int
    ) -> None:
        cell = self.levels[level]
        self.g.insert(
            "M2L_out",
            R(cell.symb[target]), Commute(cell.down[target]),
            R(cell.symb[source]), R(cell.up[source]),
            priority=self.priority["M2L_out", level],
            Level=level,
            NbCells=cell.cells[target],
            SizeInterval=cell.interval[target],
            iNbCells=cell.cells[source],
            iSizeInterval=cell.interval[source],
            OutsideInteractionsSize=size,
            NbDiff0=cells,
            NbDiff1=other_cells,
            Order=self.order,
        )  # fmt: skip


def _outside(pairs: GroupPairs) -> Iterator[tuple[int, int, int, int, int, int]]:
    """Yield each pair of different groups once, the larger number first.

    The pairs of cells follow, the distinct cells of the first and of the second group, and the
    pairs of particles.
    """
    once = pairs.source < pairs.target
    columns = (
        pairs.target, pairs.source, pairs.pairs,
        pairs.target_cells, pairs.source_cells, pairs.work,
    )  # fmt: skip
    return zip(*(column[once].tolist() for column in columns), strict=True)
