"""Regression on a sparse grid: hats whose levels add up to at most a bound, by least squares.

After D. Pflueger, "Spatially adaptive sparse grids for high-dimensional problems", 2010. The hats
at the ends go on linearly beyond the last points, so that no points are on the boundary.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from tasksim import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["SparseGrid", "points_of"]

MAX_POINTS: Final = 1500
"""Most points of a grid: normal equations of so many take a second."""
CHUNK_ROWS: Final = 2048
"""Rows whose hats are evaluated at once, for memory."""


def points_of(dimensions: int, level: int) -> int:
    """Return the number of points of a grid.

    >>> points_of(1, 3), points_of(2, 3)
    (7, 17)
    """
    counts = np.zeros(level, dtype=int)
    counts[0] = 1
    for _ in range(dimensions):
        counts = np.array(
            [
                sum(counts[used] * 2 ** (left - used) for used in range(left + 1))
                for left in range(level)
            ]
        )
    return int(counts.sum())


@dataclass
class SparseGrid:
    """A function on a sparse grid over the unit cube of the parameters' ranges."""

    level: int = 3
    ridge: float = 1e-5
    low_: Any = None
    width_: Any = None
    coefficients_: Any = None

    def fit(self, table: Floats, values: Floats) -> Self:
        """Fit to *values* at the rows of *table*.

        Raises
        ------
        InputError
            If the grid has too many points.
        """
        points = points_of(table.shape[1], self.level)
        if points > MAX_POINTS:
            raise InputError(f"a sparse grid of {points} points; legal: {MAX_POINTS} at most")
        self.low_ = table.min(axis=0)
        self.width_ = np.maximum(table.max(axis=0) - self.low_, 1e-12)
        gram, moment = np.zeros((points, points)), np.zeros(points)
        for start in range(0, len(table), CHUNK_ROWS):
            part = self._hats(table[start : start + CHUNK_ROWS])
            gram += part.T @ part
            moment += part.T @ values[start : start + CHUNK_ROWS]
        gram[np.diag_indices_from(gram)] += self.ridge * len(table)
        self.coefficients_ = np.linalg.solve(gram, moment)
        return self

    def predict(self, table: Floats) -> Floats:
        """Return values at the rows of *table*."""
        parts = [
            self._hats(table[start : start + CHUNK_ROWS]) @ self.coefficients_
            for start in range(0, len(table), CHUNK_ROWS)
        ]
        return np.concatenate(parts)

    def _hats(self, table: Floats) -> Floats:
        unit = (table - self.low_) / self.width_
        one = [[_level_hats(column, level) for level in range(self.level)] for column in unit.T]
        columns = []
        for levels in _levels(unit.shape[1], self.level - 1):
            parts = [one[mode][level] for mode, level in enumerate(levels) if level]
            block = np.ones((len(table), 1))
            for part in parts:
                block = (block[:, :, None] * part[:, None, :]).reshape(len(table), -1)
            columns.append(block)
        return np.concatenate(columns, axis=1)


def _levels(dimensions: int, left: int) -> Iterator[tuple[int, ...]]:
    """Yield levels per dimension, from 0, that add up to at most *left*."""
    if dimensions == 0:
        yield ()
        return
    for own in range(left + 1):
        for rest in _levels(dimensions - 1, left - own):
            yield (own, *rest)


def _level_hats(unit: Floats, level: int) -> Floats:
    """Return the hats of one level, from 0, at positions in the unit interval, or beyond it."""
    if level == 0:
        return np.ones((len(unit), 1))
    scaled = unit * 2 ** (level + 1)
    centres = np.arange(1, 2 ** (level + 1), 2)
    hats = np.maximum(1 - np.abs(scaled[:, None] - centres), 0.0)
    hats[:, 0] = np.maximum(2 - scaled, 0.0)
    hats[:, -1] = np.maximum(scaled - 2 ** (level + 1) + 2, 0.0)
    return np.asarray(hats)
