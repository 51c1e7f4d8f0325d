"""Noise by duration: quantiles of ln(measured / predicted) of tasks of similar durations.

A pause that lengthens a task of 20 us by a factor of 400 adds a quarter to one of 30 ms. A single
list of factors for all durations would lengthen long tasks by a factor of 400, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.base.documents.json_document import Node

__all__ = ["LEVELS", "ByDuration", "parts_of"]

LEVELS: Final = (
    0.0, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5,
    0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.975, 0.99, 0.995, 1.0,
)  # fmt: skip
"""Levels of the stored quantiles; 0 and 1 are the extremes."""

MIN_PART_SAMPLES: Final = 100
"""Minimum number of samples per part: with fewer, a stall of one task in a hundred is mostly
missed."""
MAX_PARTS: Final = 8
"""Maximum number of parts: durations over two decades are then split into factors of two."""
MERGED_LOG_DISTANCE: Final = 0.1
"""Difference of mean log durations below which two parts are merged."""


def parts_of(expected_s: NDArray[np.float64], least: int, most: int) -> list[NDArray[np.intp]]:
    """Return indices of tasks grouped by similar durations, the shortest first.

    Parameters
    ----------
    expected_s : ndarray
        Expected duration of each task, in seconds.
    least, most : int
        Minimum number of tasks per part, and maximum number of parts.
    """
    count = max(min(len(expected_s) // least, most), 1)
    found: list[NDArray[np.intp]] = []
    center = -np.inf
    for part in np.array_split(np.argsort(expected_s, kind="stable"), count):
        mine = float(np.log(expected_s[part]).mean())
        if mine - center < MERGED_LOG_DISTANCE:
            found[-1] = np.concatenate([found[-1], part])
        else:
            found.append(part)
            center = mine
    return found


@dataclass(frozen=True, eq=False)
class ByDuration:
    """Quantiles of the logarithms of noise, interpolated between durations.

    Attributes
    ----------
    centers_s
        The mean predicted duration of the tasks of each part, in seconds, ascending.
    quantiles
        float64 [parts, levels].
    """

    centers_s: NDArray[np.float64]
    quantiles: NDArray[np.float64]

    @classmethod
    def of(cls, residual: NDArray[np.float64], expected_s: NDArray[np.float64]) -> Self | None:
        """Estimate from residuals ln(measured / expected); None if too few for two parts."""
        parts = min(len(residual) // MIN_PART_SAMPLES, MAX_PARTS)
        if parts < 2:
            return None
        found = parts_of(expected_s, MIN_PART_SAMPLES, MAX_PARTS)
        logs = np.log(expected_s)
        return cls(
            np.exp([logs[part].mean() for part in found]),
            np.array([np.quantile(residual[part], LEVELS, method="weibull") for part in found]),
        )

    def __call__(self, expected_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the quantiles at each expected duration, shape (rows, levels)."""
        at, centers = np.log(expected_s), np.log(self.centers_s)
        columns = [np.interp(at, centers, column) for column in self.quantiles.T]
        return np.column_stack(columns)

    def to_json(self) -> dict[str, Any]:
        """Return the quantiles as data."""
        return {"centers_s": self.centers_s, "quantiles": self.quantiles}

    @classmethod
    def from_json(cls, node: Node) -> Self:
        """Read what :meth:`to_json` wrote."""
        rows = list(node["quantiles"])
        centers = node["centers_s"].vector(len(rows))
        if not len(rows) or centers.min() <= 0 or (np.diff(centers) <= 0).any():
            raise node["centers_s"].expected("positive numbers in ascending order")
        quantiles = np.array([row.vector(len(LEVELS)) for row in rows])
        if (np.diff(quantiles, axis=1) < 0).any():
            raise node["quantiles"].expected("rows of numbers in ascending order")
        return cls(centers, quantiles)
