"""Fit of a base and a tensor of corrections to logarithms of durations, and its updates.

Further samples are learnt from the means and counts of the cells.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.models.quantiles import group_means
from tasksim.models.rows import distinct_rows
from tasksim.models.tensor.bases import fit_base, fit_trend
from tasksim.models.tensor.completed import Completed, bounds_of, filled
from tasksim.models.tensor.completion import complete, complete_positive
from tasksim.models.tensor.grid import ObservedCells, Support, cell_indices, observed, support_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.base.arrays import Floats, Indices, Ints
    from tasksim.base.documents.json_document import JsonNode
    from tasksim.models.tensor.bases import Base
    from tasksim.models.tensor.grid import TensorAxis

    Factors = list[Floats]

__all__ = [
    "CellSums",
    "FitErrors",
    "Fitted",
    "Recipe",
    "cell_sums",
    "completed",
    "errors_of",
    "fit",
    "read_cell_sums",
    "updated",
]


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

    axes: tuple[TensorAxis, ...]
    base: Base
    tensor: Completed | None
    support: Support

    def values(self, table: Floats) -> Floats:
        """Return the logarithm of the duration of each row of parameters."""
        base = self.base.values(self.axes, table)
        return base if self.tensor is None else base + self.tensor.values(table)


@dataclass(frozen=True)
class FitErrors:
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
    axes: tuple[TensorAxis, ...], table: Floats, values: Floats, recipe: Recipe
) -> tuple[Fitted, FitErrors]:
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
        rest = tensor.moved(remaining, table, index)
        cells = replace(cells, values=group_means(rest, cells.owner))
        tensor = completed(axes, cells, support, recipe, bounds, tensor.factors)
    return Fitted(axes, base, tensor, support), _errors(rest, cells, tensor.elements(cells.index))


def errors_of(tensor: Completed, table: Floats, remaining: Floats) -> FitErrors:
    """Return the errors of *tensor* for the *remaining* values at the rows of *table*."""
    index = cell_indices(tensor.axes, table)
    rest = tensor.moved(remaining, table, index)
    cells = observed(tensor.axes, index, rest)
    return _errors(rest, cells, tensor.elements(cells.index))


def completed(
    axes: tuple[TensorAxis, ...],
    cells: ObservedCells,
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


def _errors(rest: Floats, cells: ObservedCells, elements: Floats) -> FitErrors:
    quadrature = float(np.abs(rest - cells.values[cells.owner]).mean())
    low_rank = float(np.abs(cells.values - elements)[cells.owner].mean())
    return FitErrors(quadrature, low_rank, cells.density)


UPDATE_SWEEPS: Final = 6
"""Maximum number of sweeps from the factors so far: a fit itself converges after 2 to 6."""
RELOCATION_PASSES: Final = 2
"""Number of times that new samples are moved to the points of their cells: in a cell without
earlier samples, the first time is along an extrapolated tensor."""


@dataclass(frozen=True, eq=False)
class CellSums:
    """Mean and number of the samples in each observed cell of a tensor.

    Attributes
    ----------
    index
        intp [observed, modes]: the indices of the cells, in lexicographic order.
    means
        float64 [observed]: the mean of the logarithms, without the base, moved to the points of the
        cells.
    counts
        int [observed]: the number of configurations in each.
    """

    index: Indices
    means: Floats
    counts: Ints

    @property
    def count(self) -> int:
        """The number of configurations."""
        return int(self.counts.sum())

    def with_values(self, index: Indices, values: Floats) -> CellSums:
        """Return the sums with further *values* in the cells of *index*, intp [n, modes]."""
        every = np.concatenate([self.index, index])
        distinct, owner = distinct_rows(every.astype(np.float64))
        weights = np.concatenate([self.counts, np.ones(len(index), dtype=np.int64)])
        totals = np.concatenate([self.means * self.counts, values])
        counts = np.bincount(owner, weights=weights)
        means = np.bincount(owner, weights=totals) / counts
        return CellSums(distinct.astype(np.intp), means, counts.astype(np.int64))

    def cells(self, axes: Sequence[TensorAxis]) -> ObservedCells:
        """Return the observed cells, each with its mean."""
        shape = tuple(len(axis) for axis in axes)
        return ObservedCells(self.index, self.means, np.arange(len(self.means)), shape)

    def to_json(self) -> dict[str, Any]:
        """Return the sums as plain data."""
        return {"cells": self.index, "means": self.means, "counts": self.counts}


def read_cell_sums(node: JsonNode, axes: Sequence[TensorAxis]) -> CellSums:
    """Read what :meth:`CellSums.to_json` returned for a tensor with these *axes*."""
    index = node["cells"].matrix(len(axes))
    lengths = [len(axis) for axis in axes]
    if not len(index) or (index % 1 != 0).any() or (index < 0).any() or (index >= lengths).any():
        raise node["cells"].expected("the indices of cells of the grid")
    counts = node["counts"].vector(len(index))
    if (counts % 1 != 0).any() or (counts < 1).any():
        raise node["counts"].expected("whole numbers above 0")
    means = node["means"].vector(len(index))
    return CellSums(index.astype(np.intp), means, counts.astype(np.int64))


def cell_sums(fitted: Fitted, rows: Floats, logs: Floats) -> CellSums:
    """Return the sums of the logarithms of durations that a tensor was fitted to at *rows*."""
    index = cell_indices(fitted.axes, rows)
    cells = observed(fitted.axes, index, _moved(fitted, rows, logs, index))
    return CellSums(cells.index, cells.values, np.bincount(cells.owner))


def _moved(fitted: Fitted, rows: Floats, logs: Floats, index: Indices) -> Floats:
    """Return the logarithms without the base, moved along the tensor to the points of cells."""
    rest = logs - fitted.base.values(fitted.axes, rows)
    return rest if fitted.tensor is None else fitted.tensor.moved(rest, rows, index)


def updated(
    fitted: Fitted, sums: CellSums, rows: Floats, logs: Floats, recipe: Recipe
) -> tuple[Fitted, CellSums]:
    """Return a tensor that has learnt the *logs* at *rows*, too, and its sums.

    The factors are solved for again, from those so far, in a few sweeps over all cells: each takes
    as long as there are observed cells, however many samples they had.
    """
    index = cell_indices(fitted.axes, rows)
    rest = logs - fitted.base.values(fitted.axes, rows)
    recipe = replace(recipe, sweeps=UPDATE_SWEEPS)
    found, new = fitted, sums
    for _ in range(RELOCATION_PASSES):
        new = sums.with_values(index, _moved(found, rows, logs, index))
        if found.tensor is None:
            continue
        low, high = found.tensor.bounds
        bounds = (min(low, float(rest.min())), max(high, float(rest.max())))
        cells = new.cells(fitted.axes)
        support = support_of(fitted.axes, cells)
        tensor = completed(fitted.axes, cells, support, recipe, bounds, found.tensor.factors)
        found = Fitted(fitted.axes, fitted.base, tensor, support)
    return found, new
