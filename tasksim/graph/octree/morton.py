"""Morton indices of the cells of a level of an octree (quadtree).

The bits of the integer coordinates of a cell are interleaved, the first coordinate the most
significant of each group of d bits.  The parent of a cell is ``index >> d``, its children are
the indices ``index << d`` to ``(index << d) + 2**d - 1``, hence the cells of a subtree are an
interval.  G. M. Morton, "A computer oriented geodetic data base and a new technique in file
sequencing", IBM, 1966.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["DIMENSIONS", "check_dimension", "check_height", "decode", "encode", "leaf_index"]

DIMENSIONS = (2, 3)
_INDEX_BITS = 62
"""Bits of an index in an int64 without its sign: 62 in two dimensions, 60 in three."""
_DIMENSIONS_OF_ROWS = "expected an array of shape [n, 2] or [n, 3]"

# Per dimension the steps (shift, mask) that spread the bits of a number so that d - 1 zeros
# follow each of them: every step halves the runs of bits that still lie side by side.
_SPREAD = {
    2: (
        (16, 0x0000FFFF0000FFFF),
        (8, 0x00FF00FF00FF00FF),
        (4, 0x0F0F0F0F0F0F0F0F),
        (2, 0x3333333333333333),
        (1, 0x5555555555555555),
    ),
    3: (
        (32, 0x001F00000000FFFF),
        (16, 0x001F0000FF0000FF),
        (8, 0x100F00F00F00F00F),
        (4, 0x10C30C30C30C30C3),
        (2, 0x1249249249249249),
    ),
}


def encode(coordinates: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the Morton index of each cell.

    Parameters
    ----------
    coordinates : int64 array [n, d]
        Integer coordinates, d = 2 or 3; from 0 to 2**31 - 1 in 2-D, to 2**20 - 1 in 3-D.

    Returns
    -------
    int64 array [n]

    Raises
    ------
    InputError
        The shape is another, or a coordinate is outside.

    >>> encode(np.array([[0, 1], [1, 0], [5, 3]]))
    array([ 1,  2, 39])
    """
    dimension = _dimension_of(coordinates, "coordinates")
    _check_range(coordinates, 1 << (_INDEX_BITS // dimension), "coordinates")
    return _interleave(coordinates)


def decode(index: NDArray[np.int64], dimension: int) -> NDArray[np.int64]:
    """Return the integer coordinates of each Morton index, the inverse of :func:`encode`.

    Parameters
    ----------
    index : int64 array [n]
    dimension : int
        2 or 3.

    Returns
    -------
    int64 array [n, d]

    Raises
    ------
    InputError
        The dimension is another, or an index is negative or beyond the deepest level.

    >>> decode(np.array([39]), 2)
    array([[5, 3]])
    """
    check_dimension(dimension)
    _check_range(index, 1 << (_INDEX_BITS // dimension * dimension), "Morton indices")
    shifts = range(dimension - 1, -1, -1)
    return np.stack([_gather(index >> shift, dimension) for shift in shifts], axis=1)


def leaf_index(positions: NDArray[np.float64], height: int) -> NDArray[np.int64]:
    """Return the Morton index of the leaf that each particle lies in.

    The integer coordinates are ``floor(x * 2**(height - 1))``; a particle at 1.0 belongs to
    the last cell.

    Parameters
    ----------
    positions : float64 array [n, d]
        Positions in the unit box, both borders allowed.
    height : int
        Levels of the tree, the root and the leaves included.

    Returns
    -------
    int64 array [n]

    Raises
    ------
    InputError
        A position is not finite or outside of the box, or the height is not legal.
    """
    dimension = _dimension_of(positions, "positions")
    check_height(height, dimension)
    # A NaN makes both the minimum and the maximum NaN, for which no comparison holds.
    if positions.size and not (positions.min() >= 0 and positions.max() <= 1):
        wrong = ~((positions >= 0) & (positions <= 1)).all(axis=1)
        first = int(wrong.argmax())
        got = positions[first].tolist()
        raise InputError(
            f"positions: particle {first} is at {got}, expected finite coordinates from 0 to 1 "
            f"({int(wrong.sum())} of {len(positions)} particles are outside)"
        )
    side = 1 << (height - 1)
    # Positions are not negative: the conversion to integers is the floor.
    coordinates = (positions * side).astype(np.int64)
    return _interleave(np.minimum(coordinates, side - 1, out=coordinates))


def check_dimension(dimension: int) -> None:
    """Raise :exc:`InputError` unless *dimension* is 2 or 3."""
    if dimension not in DIMENSIONS:
        raise InputError(f"dimension: got {dimension}, expected 2 or 3")


def check_height(height: int, dimension: int) -> None:
    """Raise :exc:`InputError` unless the leaves of a tree of *height* have an int64 index."""
    check_dimension(dimension)
    largest = _INDEX_BITS // dimension + 1
    if not 1 <= height <= largest:
        raise InputError(f"height: got {height}, expected 1 to {largest} in {dimension}-D")


def _interleave(coordinates: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the Morton indices of coordinates [n, d] that are known to be legal."""
    dimension = coordinates.shape[1]
    index = np.zeros(len(coordinates), dtype=np.int64)
    for axis in range(dimension):
        index |= _spread(coordinates[:, axis], dimension) << (dimension - 1 - axis)
    return index


def _spread(values: NDArray[np.int64], dimension: int) -> NDArray[np.int64]:
    """Return *values* with d - 1 zeros put before each of their bits."""
    result = values.astype(np.int64)
    for shift, mask in _SPREAD[dimension]:
        result |= result << shift
        result &= mask
    return result


def _gather(values: NDArray[np.int64], dimension: int) -> NDArray[np.int64]:
    """Return every d-th bit of *values*, side by side: undo :func:`_spread`, step by step."""
    steps = _SPREAD[dimension]
    masks = [*(mask for _, mask in steps[-2::-1]), (1 << (_INDEX_BITS // dimension)) - 1]
    result = values.astype(np.int64) & steps[-1][1]
    for (shift, _), mask in zip(reversed(steps), masks, strict=True):
        result |= result >> shift
        result &= mask
    return result


def _dimension_of(rows: NDArray[np.generic], what: str) -> int:
    """Return the number of columns of *rows*, 2 or 3."""
    if rows.ndim != 2 or rows.shape[1] not in DIMENSIONS:
        raise InputError(f"{what}: got shape {list(rows.shape)}, {_DIMENSIONS_OF_ROWS}")
    return int(rows.shape[1])


def _check_range(values: NDArray[np.int64], end: int, what: str) -> None:
    """Raise :exc:`InputError` unless all *values* are from 0 to *end* - 1."""
    if values.size and (values.min() < 0 or values.max() >= end):
        got = f"{values.min()} to {values.max()}"
        raise InputError(f"{what}: got {got}, expected 0 to {end - 1}")
