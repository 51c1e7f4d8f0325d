"""Noise by duration: the quantiles of ln(measured / predicted) of tasks that take about as long.

The pause that makes a task of 20 us take 400 times as long is a quarter more for one of 30 ms. One
list of factors for tasks of all lengths would have long tasks take 400 times as long, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.models.document import Node

__all__ = ["LEVELS", "ByDuration", "parts_of"]

LEVELS: Final = (
    0.0, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5,
    0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.975, 0.99, 0.995, 1.0,
)  # fmt: skip
"""The quantiles that are kept; 0 and 1 are the extremes."""

LEAST_EACH: Final = 100
"""Samples of about one duration: of fewer, a task in a hundred that stalls is mostly not seen."""
MOST_PARTS: Final = 8
"""Each is then twice as long as the one before where durations go over two decades."""
CLOSE: Final = 0.1
"""Parts whose durations differ by less are of the same tasks."""


def parts_of(expected_s: NDArray[np.float64], least: int, most: int) -> list[NDArray[np.intp]]:
    """Return which tasks take about as long, short ones first.

    Parameters
    ----------
    expected_s : ndarray
        What each is expected to take.
    least, most : int
        Tasks of a part, and parts.
    """
    count = max(min(len(expected_s) // least, most), 1)
    found: list[NDArray[np.intp]] = []
    center = -np.inf
    for part in np.array_split(np.argsort(expected_s, kind="stable"), count):
        mine = float(np.log(expected_s[part]).mean())
        if mine - center < CLOSE:
            found[-1] = np.concatenate([found[-1], part])
        else:
            found.append(part)
            center = mine
    return found


@dataclass(frozen=True, eq=False)
class ByDuration:
    """Quantiles of the logarithms of noise, between some durations.

    Attributes
    ----------
    centers_s
        The durations that are predicted of the tasks of each part, ascending.
    quantiles
        float64 [parts, levels].
    """

    centers_s: NDArray[np.float64]
    quantiles: NDArray[np.float64]

    @classmethod
    def of(cls, residual: NDArray[np.float64], expected_s: NDArray[np.float64]) -> Self | None:
        """Return what residuals ln(measured / expected) say; None of too few for two parts."""
        parts = min(len(residual) // LEAST_EACH, MOST_PARTS)
        if parts < 2:
            return None
        found = parts_of(expected_s, LEAST_EACH, MOST_PARTS)
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
        """Return it as data."""
        return {"centers_s": self.centers_s, "quantiles": self.quantiles}

    @classmethod
    def from_json(cls, node: Node) -> Self:
        """Return what :meth:`to_json` wrote."""
        rows = list(node["quantiles"])
        centers = node["centers_s"].vector(len(rows))
        if not len(rows) or centers.min() <= 0 or (np.diff(centers) <= 0).any():
            raise node["centers_s"].expected("positive numbers in ascending order")
        quantiles = np.array([row.vector(len(LEVELS)) for row in rows])
        if (np.diff(quantiles, axis=1) < 0).any():
            raise node["quantiles"].expected("rows of numbers in ascending order")
        return cls(centers, quantiles)
