"""Log-linear trend: a power law in each parameter, a factor per category."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tasksim.models.tensor.grid import Axis

__all__ = ["Trend", "fit_trend"]

RELATIVE_RIDGE: Final = 1e-9
"""Relative ridge: parameters that vary together (m = n everywhere) share the slope; others lose a
billionth of it."""


@dataclass(frozen=True, eq=False)
class Trend:
    """A linear function of the parameters on their axes' scales, plus a level per category.

    Attributes
    ----------
    level
        The constant.
    effects
        Per mode, float64: the slope for numerical and ordinal axes, otherwise one level per
        category.
    """

    level: float
    effects: list[NDArray[np.float64]]

    def values(self, axes: Sequence[Axis], table: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the value for each row of parameters."""
        result = np.full(len(table), self.level)
        for mode, (axis, effect) in enumerate(zip(axes, self.effects, strict=True)):
            if axis.kind == "categorical":
                result += effect[axis.cell(table[:, mode])]
            else:
                result += effect[0] * axis.scale(table[:, mode])
        return result


def fit_trend(
    axes: Sequence[Axis], table: NDArray[np.float64], values: NDArray[np.float64]
) -> Trend:
    """Return the trend of *values* by least squares with a tiny ridge.

    Categories without samples have the mean level.
    """
    columns = [_columns(axis, table[:, mode]) for mode, axis in enumerate(axes)]
    widths = [block.shape[1] for block in columns]
    design = np.hstack([np.empty((len(table), 0)), *columns])
    center = design.mean(axis=0)
    spread = design.std(axis=0)
    spread[spread <= np.finfo(np.float64).eps * (1 + np.abs(center))] = np.inf
    scaled = (design - center) / spread
    gram = scaled.T @ scaled / len(table) + RELATIVE_RIDGE * np.eye(design.shape[1])
    mean = float(values.mean())
    coef = np.linalg.solve(gram, scaled.T @ (values - mean) / len(table)) / spread
    parts = np.split(coef, np.cumsum(widths)[:-1]) if widths else []
    return Trend(mean - float(center @ coef), parts)


def _columns(axis: Axis, values: NDArray[np.float64]) -> NDArray[np.float64]:
    if axis.kind == "categorical":
        return np.eye(len(axis))[axis.cell(values)]
    return axis.scale(values)[:, None]
