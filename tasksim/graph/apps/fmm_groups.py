"""Groups of cells of an octree, and their overlaps between levels.

Consecutive cells of a level, in Morton order, make a group: cell c belongs to group
c // group_size. Every level is cut on its own, so that a group of parents may have children in
several groups, and a group of children parents in several groups (E. Agullo, B. Bramas,
O. Coulaud, M. Khannouz, L. Stanisic, "Task-based fast multipole method for clusters of multicore
processors", Inria research report 8970, 2017).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tasksim.graph.counting import counting

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.graph.csr import Int64
    from tasksim.graph.octree.interactions import GroupPairs
    from tasksim.graph.octree.tree import Tree

__all__ = ["Family", "Groups", "families", "groups_of", "of_own_pairs", "sum_per_group"]


@dataclass(frozen=True, eq=False)
class Groups:
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


def groups_of(tree: Tree, level: int, group_size: int) -> Groups:
    """Return the groups of *group_size* cells of *level*; the last may be smaller.

    Raises
    ------
    InputError
        If there is no such level, or *group_size* is less than 1.
    """
    index = tree.levels[level]
    first = group_size * np.arange(tree.groups(level, group_size))
    last = np.append(first[1:], len(index)) - 1
    return Groups(cells=last - first + 1, interval=index[last] - index[first] + 1)


def sum_per_group(values: Int64, group_size: int) -> Int64:
    """Return the sums over each group of *values*, one per cell."""
    sums: Int64 = np.add.reduceat(values, np.arange(0, len(values), group_size))
    return sums


def families(tree: Tree, level: int, group_size: int) -> Family:
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
