"""A completed tensor, evaluated anywhere by interpolation and extrapolation.

Extrapolation: the fitted tensor is undefined beyond the ends of an axis; its factors, over the
logarithm of the parameter, are continued from their last points, by a straight line or by a
piecewise linear spline with adaptive knots, but not more steeply than the samples allow. For
positive factors, the best rank-one approximation of the factor is continued: a positive matrix has
a positive one (Perron and Frobenius), whose logarithm exists (E. Hutter and E. Solomonik, SC 2023,
section 4.3; there by MARS).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from tasksim.base.arrays import Bools, Floats, Indices
    from tasksim.models.tensor.grid import AxisPosition, TensorAxis


__all__ = [
    "CONTINUATION_METHODS",
    "Completed",
    "bounds_of",
    "end_slopes",
    "filled",
    "rank_one",
    "sampled_range",
    "slopes",
]

BLOCK_ROWS: Final = 8192
"""Number of rows evaluated at once: their data, some 64 kB per mode and component, fit the
cache."""


MARGIN_SHARE: Final = 0.25
"""Margin of values inside the domain, as a share of the measured range, which keeps elements
without observations plausible. From 0.1 to 2 the error of generated durations is the same; with 0
it is 3 % larger."""


def bounds_of(values: Floats) -> tuple[float, float]:
    """Return the bounds of values inside the domain, given those at the observed rows."""
    low, high = float(values.min()), float(values.max())
    margin = MARGIN_SHARE * (high - low)
    return low - margin, high + margin


def sampled_range(bounds: tuple[float, float]) -> float:
    """Return the range of the values whose :func:`bounds_of` these are."""
    low, high = bounds
    return (high - low) / (1 + 2 * MARGIN_SHARE)


@dataclass(frozen=True, eq=False)
class Completed:
    """Axes and factors of a function, the logarithm of a duration or of a correction.

    Multilinear interpolation of a CP tensor is that of each factor: a value takes as many
    operations as there are modes times components, not 2 to the power of the modes. For positive
    factors, the logarithm of the best rank-one approximation is interpolated, which is exact for
    power laws. The ratios of components to it are interpolated linearly, since a component that is
    nearly 0 has no meaningful logarithm.

    Beyond the ends of axes the function continues along its tangent: it is evaluated at the
    nearest point inside, and each mode adds its slope there times the distance. For positive
    factors these are logarithms: a duration is multiplied by the continuation of each factor, as by
    E. Hutter and E. Solomonik, but components keep the shares that they have at the end instead of
    those of the rank-one approximation, which errs more with several components. For others,
    contributions beyond several ends are added instead of multiplied, so that errors add up, too.

    In a corner of many modes that no sample touched, the product of the factors of the other modes
    may be thousands of times too large, and with it the tangent. Where samples were taken, the
    function changed by no more than their range over the last points of an end. Beyond it changes
    by no more than that per such distance, the root of the sum of squares if several modes are
    beyond their ends: a sum over modes varies among samples as the root of their number.

    Attributes
    ----------
    factors
        Per mode float64 [cells, rank].
    supported
        Per mode, which rows had observations.
    positive
        Whether the product of the factors is a duration; otherwise it is its logarithm.
    bounds
        The smallest and the largest value inside the domain.
    method, last
        The extrapolation: see :func:`~tasksim.models.tensor.completed.end_slopes`.
    """

    axes: tuple[TensorAxis, ...]
    factors: list[Floats]
    supported: list[Bools]
    positive: bool
    bounds: tuple[float, float]
    method: str
    last: int

    def values(self, table: Floats) -> Floats:
        """Return the value for each row of parameters."""
        result = np.empty(len(table))
        for start in range(0, len(table), BLOCK_ROWS):
            result[start : start + BLOCK_ROWS] = self._block(table[start : start + BLOCK_ROWS])
        return result

    def elements(self, index: Indices) -> Floats:
        """Return the elements of the tensor at *index*, intp [n, modes], clipped to the bounds."""
        rows = [table[index[:, mode]] for mode, table in enumerate(self._shares)]
        main = [column[index[:, mode]] for mode, column in enumerate(self._main)]
        return np.clip(self._combined(rows, main, len(index)), *self.bounds)

    def moved(self, values: Floats, table: Floats, index: Indices) -> Floats:
        """Return *values* at the rows of *table*, moved along the tensor to the cells' points."""
        return values - self.values(table) + self.elements(index)

    def _block(self, table: Floats) -> Floats:
        places = [axis.place(table[:, mode]) for mode, axis in enumerate(self.axes)]
        rows = [self._share_at(mode, place) for mode, place in enumerate(places)]
        main = [
            column[place.index] + place.weight * np.append(np.diff(column), 0.0)[place.index]
            for column, place in zip(self._main, places, strict=False)
        ]
        edge = np.clip(self._combined(rows, main, len(table)), *self.bounds)
        value, squares = edge.copy(), np.zeros(len(table))
        for mode, place in enumerate(places):
            out = np.flatnonzero(place.beyond)
            if len(out):
                beyond = place.beyond[out]
                end = (beyond > 0).astype(np.intp)
                slope = self._ends[mode][end]
                if not self.positive:
                    slope = slope * _product(rows, out, mode)
                value[out] += slope.sum(axis=1) * beyond
                squares[out] += (beyond / self._widths[mode][end]) ** 2
        # The edge was clipped, but the slopes are not those of a clipped function.
        change = sampled_range(self.bounds) * np.sqrt(squares)
        return np.clip(value, edge - change, edge + change)

    def _share_at(self, mode: int, place: AxisPosition) -> Floats:
        """Return the interpolated rows of a factor."""
        rows = np.take(self._shares[mode], place.index, axis=0)
        weight = np.clip(place.weight, 0.0, 1.0) if self.positive else place.weight
        if weight.any():
            steps = np.take(self._steps[mode], place.index, axis=0)
            steps *= weight[:, None]
            rows += steps
        return rows

    def _combined(self, rows: list[Floats], main: list[Floats], count: int) -> Floats:
        if not rows:
            return np.zeros(count)
        product = rows[0].copy()
        for some in rows[1:]:
            product *= some
        total = np.asarray(product.sum(axis=1))
        if self.positive:
            total = np.log(np.maximum(total, np.finfo(np.float64).tiny)) + np.sum(main, axis=0)
        return total

    @cached_property
    def _columns(self) -> list[Floats]:
        """Per mode the rank-one column of positive factors, float64 [cells]."""
        return [rank_one(factor) for factor in self.factors] if self.positive else []

    @cached_property
    def _main(self) -> list[Floats]:
        """The logarithms of the columns."""
        return [np.log(column) for column in self._columns]

    @cached_property
    def _shares(self) -> list[Floats]:
        """Per mode the factors; positive ones divided by their column."""
        if not self.positive:
            return self.factors
        pairs = zip(self.factors, self._columns, strict=True)
        return [factor / column[:, None] for factor, column in pairs]

    @cached_property
    def _steps(self) -> list[Floats]:
        """Differences of successive rows; 0 after the last."""
        return [np.vstack([np.diff(rows, axis=0), 0 * rows[:1]]) for rows in self._shares]

    @cached_property
    def _ends(self) -> list[Floats]:
        """Per mode the slopes at both ends, float64 [2, rank]; [2, 1] for positive factors."""
        ends = []
        for axis, factor, known in zip(self.axes, self.factors, self.supported, strict=True):
            y = np.log(rank_one(factor[known]))[:, None] if self.positive else factor[known]
            ends.append(end_slopes(axis.positions[known], y, self.method, self.last))
        return ends

    @cached_property
    def _widths(self) -> list[Floats]:
        """Per mode the widths of the last points at both ends, float64 [2]; inf for one point."""
        widths = []
        for axis, known in zip(self.axes, self.supported, strict=True):
            x = axis.positions[known]
            if len(x) < 2:
                widths.append(np.full(2, np.inf))
                continue
            few = min(self.last, len(x)) - 1
            widths.append(np.array([x[few] - x[0], x[-1] - x[-1 - few]]))
        return widths


def filled(axis: TensorAxis, factor: Floats, known: Bools, *, positive: bool) -> Floats:
    """Return *factor* with rows without observations filled in.

    They are interpolated between the neighbours that are *known*; for a category, the mean is
    taken.
    """
    if known.all():
        return factor
    rows = np.log(factor) if positive else factor
    result = rows.copy()
    if axis.kind == "categorical":
        result[~known] = rows[known].mean(axis=0)
    else:
        at, of = axis.positions[~known], axis.positions[known]
        for column in range(rows.shape[1]):
            result[~known, column] = np.interp(at, of, rows[known, column])
    return np.exp(result) if positive else result


def _product(rows: list[Floats], chosen: Indices, without: int) -> Floats:
    product = np.ones((len(chosen), rows[0].shape[1]))
    for mode, some in enumerate(rows):
        if mode != without:
            product *= some[chosen]
    return product


CONTINUATION_METHODS: Final = ("line", "spline", "hold")
MAX_KNOTS: Final = 2
"""Maximum number of knots of a spline: an overhead at one end, a cache at the other."""

KNOT_PENALTY: Final = 3.0
"""Cost of a knot in generalised cross-validation, in parameters (Friedman, Ann. Stat. 1991)."""


def rank_one(factor: Floats) -> Floats:
    """Return the column of the best rank-one approximation of a positive *factor*.

    float64 [rows], positive, of length 1.
    """
    left, _, _ = np.linalg.svd(factor, full_matrices=False)
    column: Floats = np.abs(left[:, 0])
    return np.maximum(column, np.finfo(np.float64).tiny)


def end_slopes(x: Floats, y: Floats, method: str, last: int) -> Floats:
    """Return the slopes of *y* over *x* at the lower and the upper end, float64 [2, columns].

    Parameters
    ----------
    x
        float64 [points], ascending.
    y
        float64 [points, columns].
    method
        ``"line"``: the slope of the least-squares line through the *last* points of the end.
        ``"spline"``: the slope of the end piece of a piecewise linear function with up to
        two knots, chosen by generalised cross-validation. ``"hold"``: 0.
    """
    if len(x) < 2 or method == "hold":
        return np.zeros((2, y.shape[1]))
    if method == "spline":
        return np.stack([_spline(x, column) for column in y.T], axis=1)
    return np.stack([slopes(x[:last], y[:last]), slopes(x[-last:], y[-last:])])


def slopes(x: Floats, y: Floats) -> Floats:
    """Return the slope of the least-squares line of each column of *y* over *x*.

    >>> slopes(np.array([0.0, 1.0, 2.0]), np.array([[1.0], [3.0], [5.0]])).tolist()
    [2.0]
    """
    centred = x - x.mean()
    return np.asarray((centred[:, None] * (y - y.mean(axis=0))).sum(axis=0) / (centred**2).sum())


def _spline(x: Floats, y: Floats) -> Floats:
    """Return the slopes of the first and the last piece."""
    knots: list[float] = []
    best, coef = _scored(x, y, knots)
    for _ in range(MAX_KNOTS):
        tried = [(*_scored(x, y, [*knots, knot]), knot) for knot in x[2:-2].tolist()]
        score, found, knot = min(tried, key=lambda one: one[0], default=(np.inf, coef, 0.0))
        if not score < best:
            break
        best, coef = score, found
        knots.append(knot)
    return np.array([coef[1], coef[1:].sum()])


def _scored(x: Floats, y: Floats, knots: list[float]) -> tuple[float, Floats]:
    """Return the generalised cross-validation score with these *knots*, and the coefficients."""
    design = np.column_stack([np.ones(len(x)), x, *(np.maximum(x - knot, 0) for knot in knots)])
    coef = np.linalg.lstsq(design, y, rcond=None)[0]
    left = 1 - (2 + (1 + KNOT_PENALTY) * len(knots)) / len(x)
    if left <= 0:
        return (np.inf if knots else np.finfo(np.float64).max), coef
    return float(((y - design @ coef) ** 2).mean() / left**2), coef
