"""Pruned octree (quadtree in 2-D) of the cells that hold particles.

The box is halved height - 1 times: level l has 2**l cells per side, the leaves are level
height - 1.  A cell exists if there is a particle in it.  The cells of a level are numbered from
0 in the order of their Morton indices; groups of consecutive cells are the grain of the tasks
of Agullo et al., "Modeling irregular kernels of task-based codes: illustration with the FMM",
Inria research report 9036, 2017.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import InputError
from tasksim.graph.octree.morton import check_height, leaf_index
from tasksim.graph.octree.particles import positions as draw

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

__all__ = ["CellTree", "tree_of_counts", "tree_of_distribution", "tree_of_particles"]

_DENSE_LEAVES = 1 << 24
"""Largest number of possible leaves for which one table of 128 MiB counts the particles."""


@dataclass(frozen=True, eq=False)
class CellTree:
    """The cells of a pruned octree, level by level, and the particles of its leaves.

    Attributes
    ----------
    dimension : int
        2 or 3.
    height : int
        Levels, the root (level 0) and the leaves (level height - 1) included.
    levels : tuple of int64 arrays
        Per level the Morton indices of its cells, ascending.
    counts : int64 array
        Particles per leaf, at least one.
    """

    dimension: int
    height: int
    levels: tuple[NDArray[np.int64], ...]
    counts: NDArray[np.int64]

    def parents(self, level: int) -> NDArray[np.intp]:
        """Return for each cell of *level*, at least 1, the number of its parent's cell.

        Raises
        ------
        InputError
            There is no such level, or it is the root's.
        """
        if not 1 <= level < self.height:
            raise InputError(f"level: got {level}, expected 1 to {self.height - 1}")
        above = self.levels[level] >> self.dimension
        # The parents come in ascending order, and every one has a child.
        return np.concatenate([[0], np.cumsum(above[1:] != above[:-1])]).astype(np.intp)

    def groups(self, level: int, group_size: int) -> int:
        """Return how many groups of *group_size* cells *level* has; the last may be smaller.

        Raises
        ------
        InputError
            There is no such level, or groups of less than one cell are asked for.
        """
        if not 0 <= level < self.height:
            raise InputError(f"level: got {level}, expected 0 to {self.height - 1}")
        if group_size < 1:
            raise InputError(f"group_size: got {group_size}, expected at least 1 cell")
        return -(-len(self.levels[level]) // group_size)


def tree_of_counts(
    dimension: int, height: int, leaves: NDArray[np.int64], counts: NDArray[np.int64]
) -> CellTree:
    """Return the tree of given leaves.

    Parameters
    ----------
    dimension, height : int
        As in :class:`~tasksim.graph.octree.tree.CellTree`.
    leaves : int64 array [n]
        Morton indices of the leaves that hold particles, strictly ascending.
    counts : int64 array [n]
        Particles of each leaf, at least one.

    Raises
    ------
    InputError
        Leaves are missing, out of order or outside, or a leaf has no particle.
    """
    check_height(height, dimension)
    if leaves.ndim != 1 or leaves.shape != counts.shape:
        got = f"{list(leaves.shape)} and {list(counts.shape)}"
        raise InputError(f"leaves and counts: got shapes {got}, expected one equal length")
    _check_particles(len(leaves))
    possible = 1 << (dimension * (height - 1))
    if leaves[0] < 0 or leaves[-1] >= possible or (leaves[1:] <= leaves[:-1]).any():
        raise InputError(
            f"leaves: expected strictly ascending Morton indices from 0 to {possible - 1}"
        )
    if counts.min() < 1:
        first = int(counts.argmin())
        raise InputError(f"counts: leaf {first} has {counts[first]} particles, expected at least 1")
    levels = [np.array(leaves, dtype=np.int64)]
    for _ in range(height - 1):
        levels.append(_distinct_starts(levels[-1] >> dimension)[0])
    return CellTree(dimension, height, tuple(reversed(levels)), np.array(counts, dtype=np.int64))


def tree_of_particles(
    positions: NDArray[np.float64], height: int
) -> tuple[CellTree, NDArray[np.intp]]:
    """Return the tree of given particles, and the order that sorts them by leaf.

    Parameters
    ----------
    positions : float64 array [n, d]
        Positions in the unit box; both borders are allowed, see :func:`~.morton.leaf_index`.
    height : int
        As in :class:`~tasksim.graph.octree.tree.CellTree`.

    Returns
    -------
    tree : CellTree
    order : intp array [n]
        ``positions[order]`` has the particles of the first leaf first; those of one leaf stay
        in the order given.

    Raises
    ------
    InputError
        There is no particle, one is not in the box, or the height is not legal.
    """
    index = leaf_index(positions, height)
    _check_particles(len(index))
    order = np.argsort(index, kind="stable")
    leaves, counts = _runs(index[order])
    return tree_of_counts(positions.shape[1], height, leaves, counts), order


def tree_of_distribution(
    distribution: str, count: int, height: int, dimension: int = 3, seed: int = 0
) -> CellTree:
    """Return the tree of *count* particles of a distribution, never holding all of them.

    It is the tree of :func:`~.particles.all_positions` with the same arguments, exactly: the
    particles are drawn chunk by chunk, counted and forgotten.

    Raises
    ------
    InputError
        There is no such distribution, the count is less than 1, or the height is not legal.
    """
    check_height(height, dimension)
    chunks = (leaf_index(c, height) for c in draw(distribution, count, dimension, seed))
    possible = 1 << (dimension * (height - 1))
    dense = possible <= _DENSE_LEAVES
    leaves, counts = _count_dense(chunks, possible) if dense else _count_sparse(chunks)
    return tree_of_counts(dimension, height, leaves, counts)


def _count_dense(
    chunks: Iterable[NDArray[np.int64]], possible: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the leaves and their counts, from a table of all possible leaves."""
    table = np.zeros(possible, dtype=np.int64)
    for index in chunks:
        leaves, counts = _runs(np.sort(index))
        table[leaves] += counts
    leaves = np.flatnonzero(table)
    return leaves, table[leaves]


def _count_sparse(
    chunks: Iterable[NDArray[np.int64]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the leaves and their counts, merged from those of the chunks."""
    parts: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    for index in chunks:
        parts.append(_runs(np.sort(index)))
        # Merging only parts of like length, as a merge sort does, touches each leaf a
        # logarithmic number of times.
        while len(parts) > 1 and 2 * len(parts[-1][0]) > len(parts[-2][0]):
            parts.append(_merge(parts.pop(), parts.pop()))
    while len(parts) > 1:
        parts.append(_merge(parts.pop(), parts.pop()))
    return parts[0]


def _merge(
    one: tuple[NDArray[np.int64], NDArray[np.int64]],
    other: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the leaves of both, ascending, and their counts added."""
    index = np.concatenate([one[0], other[0]])
    order = np.argsort(index, kind="stable")
    leaves, starts = _distinct_starts(index[order])
    return leaves, np.add.reduceat(np.concatenate([one[1], other[1]])[order], starts)


def _runs(index: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct values of a sorted array, and how often each occurs."""
    values, starts = _distinct_starts(index)
    return values, np.diff(starts, append=len(index)).astype(np.int64)


def _distinct_starts(
    index: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Return the distinct values of a sorted array, and where each begins."""
    begins = np.ones(len(index), dtype=np.bool_)
    np.not_equal(index[1:], index[:-1], out=begins[1:])
    starts = np.flatnonzero(begins)
    return index[starts], starts


def _check_particles(count: int) -> None:
    """Raise :exc:`InputError` unless there is a particle."""
    if count < 1:
        raise InputError(f"particles: got {count}, expected at least 1")
