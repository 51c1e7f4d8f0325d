"""M2M, M2L and L2L, from cells to cells, as products of many expansions with few matrices.

The three have the same form. Each pair of a source and a target cell has a matrix, and pairs with
the same matrix are computed together, with one matrix product per block of pairs. M2M and L2L have
a matrix per octant. M2L has a matrix per relative position, but the grid of nodes is symmetric
under reflections and exchanges of axes. The 7^d - 3^d positions therefore need only 16 matrices in
3-D and 7 in 2-D, with the coefficients of both cells in another order: M. Messner, B. Bramas,
O. Coulaud, E. Darve, "Optimized M2L kernels for the Chebyshev interpolation based fast multipole
method", arXiv:1210.7292, 2012.

Matrices are for cells of width 1. For width w, 1/r in 3-D is multiplied by 1/w, and -log r in 2-D
is reduced by log w.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement, permutations, product
from math import log
from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import InputError
from tasksim.kernels.fmm.compiled import (
    INDEX_TABLE,
    INDICES,
    MATRICES,
    REAL,
    RESULT,
    TABLE,
    LoopCall,
    inlined,
    loop,
)
from tasksim.kernels.fmm.interpolation import check_order, node_coordinates, weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.base.arrays import Floats, Indices, Ints

__all__ = ["Operators", "SortedPairs", "add_products", "by_octant", "by_position", "operators"]

BLOCK_EXPANSIONS = 64
"""Number of expansions multiplied at once: enough for an efficient product, and few enough to stay
in the cache with the matrix."""
_MIN_DISTANCE, _MAX_DISTANCE = 2, 3  # in an interaction list, in cells along the longest axis


@dataclass(frozen=True, eq=False)
class SortedPairs:
    """Pairs of cells, sorted by their matrix.

    Attributes
    ----------
    target, source : int64 array [pairs]
        Rows in the arrays of expansions.
    permutation : int64 array [pairs]
        The order of the coefficients of both cells, a row of :attr:`Operators.permutations`.
    first : int64 array [matrices + 1]
        Pairs ``first[i]`` to ``first[i + 1] - 1`` have matrix i.
    """

    target: Ints
    source: Ints
    permutation: Ints
    first: Ints


@dataclass(frozen=True, eq=False)
class Operators:
    """The operators of one order and dimension, with their matrices.

    Each method returns a call, which adds to the last array. Matrices are for expansions as rows:
    target += source @ matrix.

    Attributes
    ----------
    m2m_matrices, l2l_matrices : float64 array [2^d, p^d, p^d]
        A matrix per octant.
    m2l_matrices : float64 array [16 or 7, p^d, p^d]
        A matrix per class of equivalent relative positions, for cells of width 1.
    permutations : int64 array [48 or 8, p^d]
        Per symmetry of the grid of nodes, the nodes in the order of their images.
    """

    dimension: int
    m2m_matrices: Floats
    l2l_matrices: Floats
    m2l_matrices: Floats
    permutations: Ints

    def m2m(self, pairs: SortedPairs, children: Floats, parents: Floats) -> LoopCall:
        """Add multipoles of children to those of parents, for *pairs* of :func:`by_octant`."""
        return _applied(self.m2m_matrices, pairs, self.permutations, (1.0, 0.0), children, parents)

    def m2l(
        self, pairs: SortedPairs, multipoles: Floats, locals_: Floats, cell_width: float
    ) -> LoopCall:
        """Add potentials of multipoles to local expansions, for *pairs* of :func:`by_position`.

        Parameters
        ----------
        pairs : SortedPairs
        multipoles, locals_ : float64 array [cells, p^d]
            The expansions; *locals_* are added to.
        cell_width : float
            Width of the cells of this level.
        """
        law = (1 / cell_width, 0.0) if self.dimension == 3 else (1.0, -log(cell_width))
        return _applied(self.m2l_matrices, pairs, self.permutations, law, multipoles, locals_)

    def l2l(self, pairs: SortedPairs, parents: Floats, children: Floats) -> LoopCall:
        """Add local expansions of parents to children's, for *pairs* of :func:`by_octant`."""
        return _applied(self.l2l_matrices, pairs, self.permutations, (1.0, 0.0), parents, children)


@cache
def operators(order: int, dimension: int) -> Operators:
    """Return the operators of *order* p in *dimension* d; they are cached and read-only.

    The matrices take 8 (2^(d+1) + 16) p^(2d) bytes in 3-D: 30 MB at order 7.

    Raises
    ------
    InputError
        The order is less than 1, or the dimension neither 2 nor 3.
    """
    check_order(order, dimension)
    nodes = node_coordinates(order, dimension)
    corners = np.array(list(product((-0.5, 0.5), repeat=dimension)))
    up = np.stack([weights(nodes / 2 + corner[:, None], order) for corner in corners])
    across = [_potentials(nodes, np.array(position)) for position in _positions(dimension)]
    down = np.ascontiguousarray(up.transpose(0, 2, 1))
    arrays = (up, down, np.stack(across), _permutations(order, dimension))
    for array in arrays:
        array.flags.writeable = False  # all callers share them
    return Operators(dimension, *arrays)


def by_octant(
    octant: NDArray[np.integer],
    target: NDArray[np.integer],
    source: NDArray[np.integer],
    dimension: int,
) -> SortedPairs:
    """Return pairs of parents and children in the order for M2M or L2L.

    Parameters
    ----------
    octant : integer array [pairs]
        The octant of the child in its parent: its Morton index modulo 2^d, with the first
        coordinate in the most significant bit.
    target, source : integer array [pairs]
        Parents and children for M2M, children and parents for L2L: rows of their arrays.
    dimension : int

    Raises
    ------
    InputError
        If an octant is not from 0 to 2^d - 1.
    """
    octants = 1 << dimension
    if len(octant) and not (octant.min() >= 0 and octant.max() < octants):
        raise InputError(
            f"octants: got {octant.min()} to {octant.max()}; legal: 0 to {octants - 1}"
        )
    return _sorted(octant, octants, target, source, np.zeros(len(octant), np.int64))


def by_position(
    relative: NDArray[np.integer], target: NDArray[np.integer], source: NDArray[np.integer]
) -> SortedPairs:
    """Return pairs of an interaction list in the order for M2L.

    Parameters
    ----------
    relative : integer array [pairs, d]
        Integer coordinates of the target minus those of the source.
    target, source : integer array [pairs]
        Rows of their arrays of expansions.

    Raises
    ------
    InputError
        If two cells are too near or too far for an interaction list.
    """
    dimension = relative.shape[1]
    distance = np.abs(relative).max(axis=1)
    wrong = np.flatnonzero((distance < _MIN_DISTANCE) | (distance > _MAX_DISTANCE))
    if len(wrong):
        raise InputError(
            f"relative position {relative[wrong[0]].tolist()} of pair {wrong[0]}; legal: a distance"
            f" of {_MIN_DISTANCE} to {_MAX_DISTANCE} cells along the longest axis"
        )
    matrix, permutation = _tables(dimension)
    index = tuple(relative.T + _MAX_DISTANCE)
    return _sorted(matrix[index], matrix.max() + 1, target, source, permutation[index])


def _sorted(
    matrix: NDArray[np.integer],
    matrices: int,
    target: NDArray[np.integer],
    source: NDArray[np.integer],
    permutation: Ints,
) -> SortedPairs:
    """Return the pairs sorted stably by *matrix*."""
    order = np.argsort(matrix, kind="stable")
    return SortedPairs(
        target=target[order].astype(np.int64),
        source=source[order].astype(np.int64),
        permutation=permutation[order],
        first=np.searchsorted(matrix[order], np.arange(matrices + 1)),
    )


def _positions(dimension: int) -> list[tuple[int, ...]]:
    """Return a representative of each class of positions: 3 >= x >= y >= z >= 0 and x >= 2."""
    descending = combinations_with_replacement(range(_MAX_DISTANCE, -1, -1), dimension)
    return [position for position in descending if position[0] >= _MIN_DISTANCE]


def _symmetries(dimension: int) -> list[tuple[Indices, Indices]]:
    """Return (axes, signs) of the maps x -> signs * x[axes], with the identity first."""
    return [
        (np.array(axes), np.array(signs))
        for axes in permutations(range(dimension))
        for signs in product((1, -1), repeat=dimension)
    ]


@cache
def _tables(dimension: int) -> tuple[Ints, Ints]:
    """Return matrix and permutation by relative position plus 3 along each axis; -1 for none."""
    matrix, permutation = np.full((2, *[2 * _MAX_DISTANCE + 1] * dimension), -1)
    symmetries = _symmetries(dimension)
    for number, position in enumerate(_positions(dimension)):
        for symmetry, (axes, signs) in enumerate(symmetries):
            # The map sends relative to position: relative[axes] = signs * position.
            relative = np.empty(dimension, np.intp)
            relative[axes] = signs * np.array(position)
            matrix[tuple(relative + _MAX_DISTANCE)] = number
            permutation[tuple(relative + _MAX_DISTANCE)] = symmetry
    return matrix, permutation


def _permutations(order: int, dimension: int) -> Ints:
    """Return, per symmetry and place, the node that the map sends to this place."""
    nodes = np.arange(order**dimension)
    grid = np.array(np.unravel_index(nodes, [order] * dimension))
    permuted = []
    for axes, signs in _symmetries(dimension):
        image = grid[axes]
        image[signs < 0] = order - 1 - image[signs < 0]
        place = np.ravel_multi_index(tuple(image), [order] * dimension)
        permuted.append(np.argsort(place))
    return np.stack(permuted).astype(np.int64)


def _potentials(nodes: Floats, position: NDArray[np.integer]) -> Floats:
    """Return the potentials [source node, target node] of unit charges for cells of width 1."""
    apart = (nodes[:, None, :] - nodes[:, :, None]) / 2 + position[:, None, None]
    square: Floats = (apart**2).sum(axis=0)
    return 1 / np.sqrt(square) if len(nodes) == 3 else -np.log(square) / 2


def _applied(
    matrices: Floats,
    pairs: SortedPairs,
    orders: Ints,
    law: tuple[float, float],
    sources: Floats,
    targets: Floats,
) -> LoopCall:
    """Return the call that adds the products of *sources* and *matrices* to *targets*, by pairs.

    *law* has two factors: of the product, and of the sum of the source's coefficients, which is
    added to each coefficient of the target.
    """
    scale, shift = law
    cells = (pairs.first, pairs.target, pairs.source, pairs.permutation)
    data = (scale, shift, sources, targets)
    return LoopCall(add_products, (matrices, *cells, orders, *data))


@inlined
def _gather(
    sources: Floats, rows: Ints, which: Ints, orders: Ints, gathered: Floats, sums: Floats
) -> None:
    """Set *gathered* to expansions in the order of the matrix, and *sums* to their sums."""
    for i in range(len(rows)):
        source, order, row = sources[rows[i]], orders[which[i]], gathered[i]
        total = 0.0
        for k in range(len(row)):
            row[k] = source[order[k]]
            total += row[k]
        sums[i] = total


@inlined
def _scatter(
    product: Floats,
    scale: float,
    add: Floats,
    rows: Ints,
    which: Ints,
    orders: Ints,
    targets: Floats,
) -> None:
    """Add *product*, which is in the order of the matrix, to expansions."""
    for i in range(len(rows)):
        target, order, row = targets[rows[i]], orders[which[i]], product[i]
        for k in range(len(row)):
            target[order[k]] += scale * row[k] + add[i]


@loop(MATRICES, INDICES, INDICES, INDICES, INDICES, INDEX_TABLE, REAL, REAL, TABLE, RESULT)
def add_products(
    matrices: Floats,
    first: Ints,
    target: Ints,
    source: Ints,
    permutation: Ints,
    orders: Ints,
    scale: float,
    shift: float,
    sources: Floats,
    targets: Floats,
) -> None:
    """Do the work of a call of :class:`Operators`."""
    size = sources.shape[1]
    gathered, product, sums = (
        np.empty((BLOCK_EXPANSIONS, size)),
        np.empty((BLOCK_EXPANSIONS, size)),
        np.empty(BLOCK_EXPANSIONS),
    )
    for matrix in range(len(first) - 1):
        for begin in range(first[matrix], first[matrix + 1], BLOCK_EXPANSIONS):
            end = min(begin + BLOCK_EXPANSIONS, first[matrix + 1])
            count = end - begin
            here, there, add = gathered[:count], product[:count], sums[:count]
            which = permutation[begin:end]
            _gather(sources, source[begin:end], which, orders, here, add)
            np.dot(here, matrices[matrix], there)
            add *= shift
            _scatter(there, scale, add, target[begin:end], which, orders, targets)
