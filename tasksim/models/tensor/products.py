"""Sums of products of parameters with positive coefficients, such as work and traffic.

The flop and bytes of a kernel are such sums: 2mnk and 8(mn + mk + nk) for a matrix product. Unlike
that of a power law, which follows the average of the measurements, their leading term is right far
beyond the domain, and positive coefficients keep a fit to few samples plausible.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.models.nonnegative import non_negative
from tasksim.models.tensor.grid import MIN_VALUE_SHARE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tasksim.models.tensor.grid import Axis
    from tasksim.models.tensor.trend import Trend

    Table = NDArray[np.float64]

__all__ = ["Products", "fit_products"]

MAX_EXPONENT: Final = 3
"""Largest exponent: work is at most cubic in the size of a tile."""
MAX_PARAMETERS: Final = 3
"""Maximum number of parameters in a product: a matrix product has three."""
MAX_PRODUCTS: Final = 256
"""Maximum number of products; if there would be more, each has fewer parameters. The time of
non-negative least squares grows with the cube of the columns."""
EXPONENT_TOLERANCE: Final = 0.25
"""Tolerance of exponents: a power law of 1.2 has exponents up to 1, one of 1.3 up to 2."""
ITERATIONS: Final = 4
"""Number of iterations; weights are relative to the fit of the one before. The error of generated
durations is the same from two on."""
MIN_POSITIVE: Final = np.finfo(np.float64).tiny
ROUNDING_SHARE: Final = 1e-12
"""Largest share of a product that counts as a rounding error, which would differ between
processors: such shares are about 1e-16 of a duration, and no measurement is as exact as this."""


@dataclass(frozen=True, eq=False)
class Products:
    """The logarithm of a sum of products, plus a level per category.

    Attributes
    ----------
    exponents
        int [products, modes]; 0 for categorical modes.
    coefficients
        float64 [products], positive.
    effects
        Per mode, one level per category; empty for the others.
    """

    exponents: NDArray[np.int64]
    coefficients: Table
    effects: list[Table]

    def values(self, axes: Sequence[Axis], table: Table) -> Table:
        """Return the value for each row of parameters."""
        total = _design(self.exponents, _above_zero(axes, table)) @ self.coefficients
        return np.log(np.maximum(total, MIN_POSITIVE)) + _levels(axes, self.effects, table)


def fit_products(axes: Sequence[Axis], table: Table, values: Table, trend: Trend) -> Products:
    """Return the products for *values*, logarithms, at the rows of *table*.

    They are chosen by non-negative least squares on relative errors, from all products of at most
    three parameters whose exponents are integers up to those of the power law, the *trend*.
    """
    effects = [
        effect if axis.kind == "categorical" else np.empty(0)
        for axis, effect in zip(axes, trend.effects, strict=True)
    ]
    exponents = _exponents(axes, trend)
    design = _design(exponents, table)
    scale = design.max(axis=0)
    scale[scale == 0] = 1.0
    durations = np.exp(values - _levels(axes, effects, table))
    reference = durations
    for _ in range(ITERATIONS):
        relative = design / scale / reference[:, None]
        coefficients = non_negative(relative, durations / reference)
        reference = np.clip(design / scale @ coefficients, durations / 2, durations * 2)
    kept = (relative * coefficients).max(axis=0, initial=0) > ROUNDING_SHARE
    return Products(exponents[kept], (coefficients / scale)[kept], effects)


def _exponents(axes: Sequence[Axis], trend: Trend) -> NDArray[np.int64]:
    ranges = [_range(axis, effect) for axis, effect in zip(axes, trend.effects, strict=True)]
    for together in range(MAX_PARAMETERS, 0, -1):
        found = list(_combined(ranges, together))
        if len(found) <= MAX_PRODUCTS:
            break
    return np.array(found, dtype=np.int64).reshape(len(found), len(axes))


def _range(axis: Axis, effect: Table) -> range:
    """Return the exponents of a parameter, including 0."""
    if axis.kind == "categorical" or axis.edges[0] == axis.edges[-1]:
        return range(1)
    if not axis.logarithmic:
        return range(2)
    slope = float(effect[0])
    if slope >= 0:
        return range(min(max(1, ceil(slope - EXPONENT_TOLERANCE)), MAX_EXPONENT) + 1)
    return range(max(min(-1, floor(slope + EXPONENT_TOLERANCE)), -MAX_EXPONENT), 1)


def _combined(ranges: Sequence[range], together: int) -> Iterator[tuple[int, ...]]:
    """Yield all combinations with at most *together* nonzero exponents."""
    if not ranges:
        yield ()
        return
    for exponent in ranges[0]:
        left = together - (exponent != 0)
        if left >= 0:
            yield from ((exponent, *rest) for rest in _combined(ranges[1:], left))


def _design(exponents: NDArray[np.int64], table: Table) -> Table:
    columns = [np.prod(table**row, axis=1) for row in exponents.astype(np.float64)]
    return np.stack(columns, axis=1) if columns else np.zeros((len(table), 0))


def _above_zero(axes: Sequence[Axis], table: Table) -> Table:
    """Return *table* with positive values where there are logarithms, as on an axis' scale."""
    least = [MIN_VALUE_SHARE * axis.edges[0] if axis.logarithmic else 0.0 for axis in axes]
    return np.maximum(table, least)


def _levels(axes: Sequence[Axis], effects: Sequence[Table], table: Table) -> Table:
    total = np.zeros(len(table))
    for mode, (axis, effect) in enumerate(zip(axes, effects, strict=True)):
        if axis.kind == "categorical":
            total += effect[axis.cell(table[:, mode])]
    return total
