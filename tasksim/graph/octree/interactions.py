"""Interactions of the cells of a pruned octree, and their numbers between groups.

Two relations, both symmetric. Leaves that touch (P2P) share a face, an edge or a corner. A
cell's *interaction list* (M2L) holds the children of its parent and of the cells that touch its
parent, except those that touch the cell and the cell itself: at most 6^d - 3^d of them, 27 in
2-D and 189 in 3-D. Greengard and Rokhlin, "A fast algorithm for particle simulations", Journal
of Computational Physics 73(2), 1987, section 3.

Either way all partners of a cell are children of the 3^d cells around and at its parent, hence
the search goes through the parents, of which there are fewer. It proceeds in blocks of
consecutive cells. What the blocks find of a pair of groups adds up, so that memory depends on the
number of group pairs, not of pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tasksim.base.errors import InputError
from tasksim.graph.counting import counting
from tasksim.graph.csr import Int32, Int64
from tasksim.graph.octree.morton import decode

if TYPE_CHECKING:
    from tasksim.graph.counting import Counted
    from tasksim.graph.octree.tree import CellTree

__all__ = [
    "CellPairs",
    "GroupPairs",
    "m2l_groups",
    "m2l_pairs",
    "neighbour_groups",
    "neighbour_pairs",
]

# From the largest coordinate difference of two cells: are they partners?
_Relation: TypeAlias = Callable[[Int64], NDArray[np.bool_]]

# Partners looked for at once: a block's arrays take 20 to 40 bytes for each.
BLOCK_PAIRS = 1 << 20
# Up to here a level is looked up in a table of all possible cells, of 64 MiB at most.
TABLE_CELLS = 1 << 24
_NONE = -1
_OUTSIDE_PARAMETERS = ("OutsideInteractionsSize", "NbDiff0", "NbDiff1")
COUNTED_M2L: Final[Counted] = (("M2L_in", "M2L_out"), ("NbInteractions", *_OUTSIDE_PARAMETERS))
COUNTED_P2P: Final[Counted] = (("P2P_in", "P2P_out"), ("NbInteractions", *_OUTSIDE_PARAMETERS))
"""Kernels and their indirect parameters that are counted here. To find which groups interact is no
part of it: the dependencies of the tasks need that anyway."""


@dataclass(frozen=True, eq=False)
class CellPairs:
    """Ordered pairs of interacting cells of one level, sorted by target, then source.

    Attributes
    ----------
    target, source : int32 array [pairs]
        Numbers of the cells on their level.
    """

    target: Int32
    source: Int32


@dataclass(frozen=True, eq=False)
class GroupPairs:
    """Ordered pairs of groups with interacting cells, sorted by target, then source.

    The interactions inside a group are the pair of that group with itself.

    Attributes
    ----------
    target, source : int32 array [group pairs]
        Numbers of the groups on their level.
    pairs : int64 array [group pairs]
        Ordered pairs of cells, the target cell in the target group; at least 1.
    target_cells, source_cells : int64 array [group pairs]
        Distinct cells of the target and of the source group in those pairs.
    work : int64 array [group pairs]
        Sum over those pairs of the particles of the target times those of the source. 0 for
        M2L, whose cost does not depend on particles.
    """

    target: Int32
    source: Int32
    pairs: Int64
    target_cells: Int64
    source_cells: Int64
    work: Int64


def m2l_pairs(tree: CellTree, level: int) -> CellPairs:
    """Return the interaction lists of the cells of *level*; none on levels 0 and 1.

    Raises
    ------
    InputError
        The tree has no such level.
    """
    return _pairs(tree, level, _well_separated)


def neighbour_pairs(tree: CellTree) -> CellPairs:
    """Return the pairs of different leaves that touch."""
    return _pairs(tree, tree.height - 1, _touching)


def m2l_groups(tree: CellTree, level: int, group_size: int) -> GroupPairs:
    """Return the interaction lists of the cells of *level*, summed up per pair of groups.

    Parameters
    ----------
    tree : CellTree
    level : int
        From 0 to height - 1.
    group_size : int
        Consecutive cells of a group, the last group excepted.

    Raises
    ------
    InputError
        The tree has no such level, or the group size is less than 1.
    """
    return _groups(tree, level, group_size, _well_separated, weights=None)


def neighbour_groups(tree: CellTree, group_size: int) -> GroupPairs:
    """Return the pairs of different leaves that touch, summed up per pair of groups.

    Parameters
    ----------
    tree : CellTree
    group_size : int
        Consecutive leaves of a group, the last group excepted.

    Raises
    ------
    InputError
        The group size is less than 1.
    """
    return _groups(tree, tree.height - 1, group_size, _touching, weights=tree.counts)


def _touching(distance: Int64) -> NDArray[np.bool_]:
    return np.equal(distance, 1)


def _well_separated(distance: Int64) -> NDArray[np.bool_]:
    return np.greater(distance, 1)


def _pairs(tree: CellTree, level: int, relation: _Relation) -> CellPairs:
    """Return all pairs of cells of *level* in *relation*."""
    if not 0 <= level < tree.height:
        raise InputError(f"level: got {level}, expected 0 to {tree.height - 1}")
    targets, sources = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
    for first, partners in _partner_blocks(tree, level, relation):
        row, column = np.nonzero(partners != _NONE)
        targets.append((row + first).astype(np.int32))
        sources.append(partners[row, column])
    return CellPairs(np.concatenate(targets), np.concatenate(sources))


def _groups(
    tree: CellTree, level: int, group_size: int, relation: _Relation, weights: Int64 | None
) -> GroupPairs:
    """Return the pairs of cells in *relation*, summed up per pair of groups of *level*.

    *weights* are the particles of the cells, None if the work does not count.
    """
    groups = tree.groups(level, group_size)
    group_size = min(group_size, len(tree.levels[level]))  # so that it fits the cells' integers
    counted = COUNTED_M2L if weights is None else COUNTED_P2P
    keys, sums = [np.empty(0, np.int64)], [np.empty((3, 0), np.int64)]
    for first, partners in _partner_blocks(tree, level, relation):
        group = partners // group_size  # of -1, no partner, it is -1 again
        starts_run = np.ones(group.shape, dtype=np.bool_)
        # Partners are sorted, hence those of one group are side by side.
        np.not_equal(group[:, 1:], group[:, :-1], out=starts_run[:, 1:])
        starts = np.flatnonzero(starts_run)
        of_source, cell = group.ravel()[starts], first + starts // partners.shape[1]
        exists = of_source != _NONE
        with counting(*counted[1], kernels=counted[0]):
            counts = np.zeros((3, len(starts)), dtype=np.int64)  # pairs, target cells, work
            counts[0] = np.diff(starts, append=partners.size)
            counts[1] = 1  # the target cell itself
            if weights is not None:
                counts[2] = np.add.reduceat(weights[partners].ravel(), starts) * weights[cell]
            counts = counts[:, exists]
        # One number per group pair, in the order of the pairs: NumPy sorts those faster.
        pair = cell[exists] // group_size * groups + of_source[exists].astype(np.int64)
        key, total = _sum_by_key(pair, counts, counted)
        keys.append(key)
        sums.append(total)
    key, (pairs, target_cells, work) = _sum_by_key(np.concatenate(keys), np.hstack(sums), counted)
    target, source = key // groups, key % groups
    with counting(*counted[1], kernels=counted[0]):
        # Both relations are symmetric: the sources of a group pair are the targets of the reverse.
        reverse = np.searchsorted(key, source * groups + target)
        source_cells = target_cells[reverse]
    return GroupPairs(
        target=target.astype(np.int32),
        source=source.astype(np.int32),
        pairs=pairs,
        target_cells=target_cells,
        source_cells=source_cells,
        work=work,
    )


def _sum_by_key(keys: Int64, values: Int64, counted: Counted) -> tuple[Int64, Int64]:
    """Return the distinct *keys* [n], ascending, and the sums of the *values* [k, n] of each."""
    if not len(keys):
        return keys, values
    order = np.argsort(keys)
    keys = keys[order]
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    with counting(*counted[1], kernels=counted[0]):
        sums = np.add.reduceat(values[:, order], starts, axis=1)
    return keys[starts], sums


def _partner_blocks(tree: CellTree, level: int, relation: _Relation) -> Iterator[tuple[int, Int32]]:
    """Yield the partners in *relation* of the cells of *level*, block by block.

    Yields
    ------
    first : int
        Number of the block's first cell.
    partners : int32 array [cells of the block, most partners of a cell]
        Per cell the numbers of its partners, ascending, after a -1 for each that is missing.
    """
    if level == 0:
        return  # the root is alone, and has no parent
    parents, octants = tree.parents(level), _octants(tree, level)
    children, find = _children(tree, level), _finder(tree, level - 1)
    columns = _columns(tree.dimension, relation)
    cells = max(1, BLOCK_PAIRS // columns.shape[1])
    for first in range(0, len(parents), cells):
        parent, octant = parents[first : first + cells], octants[first : first + cells]
        of_block = slice(parent[0], parent[-1] + 1)
        nearby = find(_around(tree.levels[level - 1][of_block], tree.dimension, level - 1))
        candidates = children[nearby].reshape(len(nearby), -1)
        partners = candidates[(parent - parent[0])[:, None], columns[octant]]
        partners.sort(axis=1)
        yield first, partners


def _octants(tree: CellTree, level: int) -> Int64:
    """Return which child of its parent each cell of *level* is, from 0 to 2^d - 1."""
    return tree.levels[level] & ((1 << tree.dimension) - 1)


def _children(tree: CellTree, level: int) -> Int32:
    """Return the children's numbers [cells of level - 1, plus 1; 2^d], -1 for those missing.

    The last row is that of the cell numbered -1, which has no children.
    """
    parents = len(tree.levels[level - 1])
    children = np.full((parents + 1, 1 << tree.dimension), _NONE, dtype=np.int32)
    children[tree.parents(level), _octants(tree, level)] = np.arange(len(tree.levels[level]))
    return children


def _columns(dimension: int, relation: _Relation) -> NDArray[np.intp]:
    """Return which children of the cells around a parent are partners of the parent's children.

    Returns
    -------
    intp array [2^d, partners of a cell that is not at the border]
        Per octant of a cell the columns of its partners in [3^d directions, 2^d octants],
        directions in the order of :func:`_around`.
    """
    directions = np.array(list(product((-1, 0, 1), repeat=dimension)))
    corners = decode(np.arange(1 << dimension), dimension)
    positions = (2 * directions[:, None] + corners).reshape(-1, dimension)
    distance = np.abs(positions - corners[:, None]).max(axis=2)
    return np.nonzero(relation(distance))[1].reshape(len(corners), -1)


def _around(index: Int64, dimension: int, level: int) -> Int64:
    """Return the Morton indices of the cells around each cell, -1 outside of the box.

    Coordinates are moved by one inside of the interleaved index: bits of the other coordinates
    are filled so that carries cross them. Schrack, "Finding neighbors of equal size in linear
    quadtrees and octrees in constant time", CVGIP: Image Understanding 55(3), 1992.

    Returns
    -------
    int64 array [n, 3^d]
        Neighbours in the order of ``itertools.product((-1, 0, 1), repeat=d)``: the cell itself is
        in the middle.
    """
    around = np.zeros((len(index), 1), dtype=np.int64)
    for axis in range(dimension):
        mask = sum(1 << (bit * dimension + dimension - 1 - axis) for bit in range(level))
        here = index & mask
        below = np.where(here == 0, _NONE, (here - 1) & mask)
        above = np.where(here == mask, _NONE, ((here | ~mask) + 1) & mask)
        # -1 has all bits set: it stays -1 whatever is added.
        moved = np.stack([below, here, above], axis=1)
        around = (around[:, :, None] | moved[:, None, :]).reshape(len(index), -1)
    return around


def _finder(tree: CellTree, level: int) -> Callable[[Int64], NDArray[np.integer]]:
    """Return a function from Morton indices (or -1) to numbers of cells of *level*, or -1."""
    cells = tree.levels[level]
    possible = 1 << (tree.dimension * level)
    if possible > TABLE_CELLS:

        def search(index: Int64) -> NDArray[np.intp]:
            place = np.searchsorted(cells[1:], index, side="right")
            return np.where(cells[place] == index, place, _NONE)

        return search
    # The last entry is that of -1, which is no cell.
    table = np.full(possible + 1, _NONE, dtype=np.int32)
    table[cells] = np.arange(len(cells))
    return lambda index: table[index]
