"""Designs of experiments on the unit cube."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["grid_counts", "latin_hypercube"]


def latin_hypercube(count: int, dimensions: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return *count* points in [0, 1): in each dimension, one point in each of *count* slices.

    M. D. McKay, R. J. Beckman, W. J. Conover, Technometrics 21(2), 1979.

    >>> points = latin_hypercube(4, 2, np.random.default_rng(0))
    >>> np.sort((4 * points).astype(int), axis=0).T.tolist()
    [[0, 1, 2, 3], [0, 1, 2, 3]]
    """
    slices = np.tile(np.arange(count), (dimensions, 1))
    points = (rng.permuted(slices, axis=1).T + rng.random((count, dimensions))) / count
    return np.minimum(points, np.nextafter(1.0, 0.0))


def grid_counts(lengths: Sequence[int], fixed: Sequence[bool], limit: int) -> list[int]:
    """Return the number of values per axis of a grid with at most *limit* points, if possible.

    Axes that are *fixed* keep all their values; the others get equal numbers, at least two (one if
    the axis has no more).

    >>> grid_counts([1000, 3, 1000], [False, True, False], 300)
    [10, 3, 10]
    """

    def counts(each: int) -> list[int]:
        return [
            length if held else min(length, each)
            for length, held in zip(lengths, fixed, strict=True)
        ]

    each, largest = 2, max(lengths)
    while each < largest and prod(counts(each + 1)) <= limit:
        each += 1
    return counts(each)
