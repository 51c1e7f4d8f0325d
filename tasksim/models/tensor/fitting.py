"""Fitting a base and a tensor of corrections to logarithms of durations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.models.quantiles import group_means
from tasksim.models.tensor.bases import fit_base, fit_trend
from tasksim.models.tensor.completed import Completed, filled
from tasksim.models.tensor.completion import complete, complete_positive
from tasksim.models.tensor.grid import Cells, Support, cell_indices, observed, support_of

if TYPE_CHECKING:
    from tasksim.base.arrays import Floats
    from tasksim.models.tensor.bases import Base
    from tasksim.models.tensor.grid import Axis

    Factors = list[Floats]

__all__ = ["Errors", "Fitted", "Recipe", "bounds_of", "completed", "errors_of", "fit"]

MARGIN_SHARE: Final = 0.25
"""Margin of values inside the domain, as a share of the measured range, which keeps elements
without observations plausible. From 0.1 to 2 the error of generated durations is the same; with 0
it is 3 % larger."""


@dataclass(frozen=True)
class Recipe:
    """Options of the fit of a tensor.

    ``base``: ``"level"``, the mean, or one of :data:`~tasksim.models.tensor.bases.BASES`. ``rank``
    0 is the base alone. ``passes`` is the number of times that cells are corrected for the
    positions of samples within them, by means of the tensor itself.
    """

    base: str
    rank: int
    ridge: float
    positive: bool = False
    method: str = "line"
    last: int = 6
    passes: int = 1
    starts: int = 3
    sweeps: int = 60
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Fitted:
    """A base with its correction; None for rank 0."""

    axes: tuple[Axis, ...]
    base: Base
    tensor: Completed | None
    support: Support

    def values(self, table: Floats) -> Floats:
        """Return the logarithm of the duration of each row of parameters."""
        base = self.base.values(self.axes, table)
        return base if self.tensor is None else base + self.tensor.values(table)


@dataclass(frozen=True)
class Errors:
    """The errors of a fit by origin, as means of absolute logarithms.

    Attributes
    ----------
    quadrature
        Measurements against the mean of their cell: the resolution of the grid, and noise.
        A finer grid reduces it.
    low_rank
        The means of cells against the elements of the tensor. A higher rank reduces it.
    density
        The share of observed cells.
    """

    quadrature: float
    low_rank: float
    density: float


def fit(
    axes: tuple[Axis, ...], table: Floats, values: Floats, recipe: Recipe
) -> tuple[Fitted, Errors]:
    """Return base and tensor fitted to the *values* at the rows of *table*.

    The element of a cell represents its point, but samples lie anywhere in the cell: each is first
    moved to the point along the trend. In further passes it is moved along the tensor
    itself, so that the interpolated function instead of the elements has the means of the cells.
    """
    base = fit_base(recipe.base, axes, table, values)
    index = cell_indices(axes, table)
    rest = values - base.values(axes, table)
    if recipe.base == "level":
        trend = fit_trend(axes, table, values)
        points = np.stack([a.points[index[:, m]] for m, a in enumerate(axes)], 1) if axes else table
        rest = rest + trend.values(axes, points) - trend.values(axes, table)
    cells = observed(axes, index, rest)
    support = support_of(axes, cells)
    if recipe.rank == 0 or not axes:
        nothing = Fitted(axes, base, None, support)
        return nothing, _errors(rest, cells, np.zeros(len(cells.values)))
    remaining = values - base.values(axes, table)
    bounds = bounds_of(remaining)
    tensor = completed(axes, cells, support, recipe, bounds)
    for _ in range(recipe.passes):
        rest = remaining - tensor.values(table) + tensor.elements(index)
        cells = replace(cells, values=group_means(rest, cells.owner))
        tensor = completed(axes, cells, support, recipe, bounds, tensor.factors)
    return Fitted(axes, base, tensor, support), _errors(rest, cells, tensor.elements(cells.index))


def errors_of(tensor: Completed, table: Floats, remaining: Floats) -> Errors:
    """Return the errors of *tensor* for the *remaining* values at the rows of *table*."""
    index = cell_indices(tensor.axes, table)
    rest = remaining - tensor.values(table) + tensor.elements(index)
    cells = observed(tensor.axes, index, rest)
    return _errors(rest, cells, tensor.elements(cells.index))


def bounds_of(values: Floats) -> tuple[float, float]:
    """Return the bounds of values inside the domain, given those at the observed rows."""
    low, high = float(values.min()), float(values.max())
    margin = MARGIN_SHARE * (high - low)
    return low - margin, high + margin


def completed(
    axes: tuple[Axis, ...],
    cells: Cells,
    support: Support,
    recipe: Recipe,
    bounds: tuple[float, float],
    start: Factors | None = None,
) -> Completed:
    """Return the tensor of *cells*, with rows outside *support* filled in."""
    rank, ridge, seed, sweeps = recipe.rank, recipe.ridge, recipe.seed, recipe.sweeps
    if recipe.positive:
        found = complete_positive(cells, rank, ridge, seed=seed, sweeps=sweeps // 2, start=start)
    else:
        found = complete(
            cells, rank, ridge, seed=seed, starts=recipe.starts, sweeps=sweeps, start=start
        )
    factors = [
        filled(axis, factor, known, positive=recipe.positive)
        for axis, factor, known in zip(axes, found, support.rows, strict=True)
    ]
    return Completed(
        axes, factors, support.rows, recipe.positive, bounds, recipe.method, recipe.last
    )


def _errors(rest: Floats, cells: Cells, elements: Floats) -> Errors:
    quadrature = float(np.abs(rest - cells.values[cells.owner]).mean())
    low_rank = float(np.abs(cells.values - elements)[cells.owner].mean())
    return Errors(quadrature, low_rank, cells.density)
