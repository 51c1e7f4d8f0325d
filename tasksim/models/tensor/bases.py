"""Bases of tensor models, either a power law or a sum of products.

A power law is linear in logarithms, with a factor per category. Sums of products of parameters with
positive coefficients fit work and traffic: the flop and bytes of a kernel are such sums: 2mnk and
8(mn + mk + nk) for a matrix product. Unlike that of a power law, which follows the average of the
measurements, their leading term is right far beyond the domain, and positive coefficients keep a
fit to few samples plausible.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.models.tensor.grid import MIN_VALUE_SHARE
from tasksim.models.terms.leastsquares import non_negative
from tasksim.models.validation.crossvalidation import each_left_out

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasksim.base.arrays import Floats, Ints
    from tasksim.base.documents.json_document import JsonNode
    from tasksim.models.tensor.grid import TensorAxis

__all__ = [
    "BASES",
    "Base",
    "Products",
    "Trend",
    "base_to_json",
    "choose_base",
    "fit_base",
    "fit_products",
    "fit_trend",
    "read_base",
]

RELATIVE_RIDGE: Final = 1e-9
"""Relative ridge: parameters that vary together (m = n everywhere) share the slope; others lose a
billionth of it."""

PRIOR_EXPONENT: Final = 3.0
"""Standard deviation of exponents before anything is known: work is at most cubic in a size, and
categories differ by up to e^3, 20 times."""
WEAK_FACTOR: Final = 10.0
"""Samples determine a combination of exponents if they tell ten times as much as the prior does: it
would otherwise be shrunk by a tenth or more."""
ROUNDING_POWER: Final = 1e-13
"""Largest relative eigenvalue that is a rounding error, of parameters that are exactly
proportional."""
NOISE_ITERATIONS: Final = 10
"""Number of iterations for the noise: it is the same to three digits from four on."""


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
    effects: list[Floats]

    def values(self, axes: Sequence[TensorAxis], table: Floats) -> Floats:
        """Return the value for each row of parameters."""
        result = np.full(len(table), self.level)
        for mode, (axis, effect) in enumerate(zip(axes, self.effects, strict=True)):
            if axis.kind == "categorical":
                result += effect[axis.cell(table[:, mode])]
            else:
                result += effect[0] * axis.scale(table[:, mode])
        return result


def fit_trend(axes: Sequence[TensorAxis], table: Floats, values: Floats) -> Trend:
    """Return the trend of *values* by least squares with a tiny ridge.

    Categories without samples have the mean level. Where the samples hardly determine a combination
    of exponents, such as the difference of those of two parameters that are nearly proportional,
    the ridge is that of an exponent of about :data:`PRIOR_EXPONENT`.
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
    prior = np.repeat([_prior(axis) for axis in axes], widths)
    shrunk = _plausible((design - center) * np.isfinite(spread) * prior, values - mean)
    coef = coef if shrunk is None else shrunk * prior
    parts = np.split(coef, np.cumsum(widths)[:-1]) if widths else []
    return Trend(mean - float(center @ coef), parts)


def _prior(axis: TensorAxis) -> float:
    """Return the standard deviation of the slope that is expected before anything is known."""
    high = float(axis.edges[-1])
    # A straight line has the exponent slope times value.
    linear = axis.kind != "categorical" and not axis.logarithmic and high > 0
    return PRIOR_EXPONENT / high if linear else PRIOR_EXPONENT


def _plausible(design: Floats, values: Floats) -> Floats | None:
    """Return the most probable coefficients, of variance 1 before; None if all are determined.

    The noise is estimated by the fit itself (D. J. C. MacKay, "Bayesian interpolation", Neural
    Computation 4, 1992).
    """
    rows = len(design)
    powers, vectors = np.linalg.eigh(design.T @ design / rows)
    # Rounding alone leaves nothing to determine: the tiny ridge then divides the slope equally.
    some = powers > ROUNDING_POWER * max(powers.max(initial=0), np.finfo(np.float64).tiny)
    powers, vectors = powers[some], vectors[:, some]
    sides = vectors.T @ (design.T @ values) / rows
    variance = float((values**2).mean())
    for _ in range(NOISE_ITERATIONS):
        kept = powers / (powers + variance / rows)
        left = values - design @ (vectors @ (kept * sides / powers))
        variance = float(left @ left) / (rows - float(kept.sum()))
    ridge = variance / rows
    if not (powers < WEAK_FACTOR * ridge).any():
        return None
    return np.asarray(vectors @ (sides / (powers + ridge)))


def _columns(axis: TensorAxis, values: Floats) -> Floats:
    if axis.kind == "categorical":
        return np.eye(len(axis))[axis.cell(values)]
    return axis.scale(values)[:, None]


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

    exponents: Ints
    coefficients: Floats
    effects: list[Floats]

    def values(self, axes: Sequence[TensorAxis], table: Floats) -> Floats:
        """Return the value for each row of parameters."""
        # Positive where there are logarithms, as on an axis' scale.
        least = [MIN_VALUE_SHARE * axis.edges[0] if axis.logarithmic else 0.0 for axis in axes]
        total = np.zeros(len(table))
        products = _products(self.exponents, np.maximum(table, least))
        for coefficient, product in zip(self.coefficients.tolist(), products, strict=True):
            total += coefficient * product
        return np.log(np.maximum(total, MIN_POSITIVE)) + _levels(axes, self.effects, table)


def fit_products(
    axes: Sequence[TensorAxis], table: Floats, values: Floats, trend: Trend
) -> Products:
    """Return the products for *values*, logarithms, at the rows of *table*.

    They are chosen by non-negative least squares on relative errors, from all products of at most
    three parameters whose exponents are integers up to those of the power law, the *trend*.
    """
    effects = [
        effect if axis.kind == "categorical" else np.empty(0)
        for axis, effect in zip(axes, trend.effects, strict=True)
    ]
    exponents = _exponents(axes, trend)
    design = np.empty((len(table), len(exponents)), order="F")
    for place, product in enumerate(_products(exponents, table)):
        design[:, place] = product
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


def _exponents(axes: Sequence[TensorAxis], trend: Trend) -> Ints:
    ranges = [_range(axis, effect) for axis, effect in zip(axes, trend.effects, strict=True)]
    for together in range(MAX_PARAMETERS, 0, -1):
        found = list(_combined(ranges, together))
        if len(found) <= MAX_PRODUCTS:
            break
    return np.array(found, dtype=np.int64).reshape(len(found), len(axes))


def _range(axis: TensorAxis, effect: Floats) -> range:
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


def _products(exponents: Ints, table: Floats) -> Iterator[Floats]:
    """Yield each product of powers at the rows of *table*; powers are computed once."""
    powers: dict[tuple[int, int], Floats] = {}
    for row in exponents.tolist():
        product = np.ones(len(table))
        for mode, exponent in enumerate(row):
            if exponent:
                key = mode, exponent
                if key not in powers:
                    powers[key] = np.ascontiguousarray(table[:, mode]) ** float(exponent)
                product *= powers[key]
        yield product


def _levels(axes: Sequence[TensorAxis], effects: Sequence[Floats], table: Floats) -> Floats:
    total = np.zeros(len(table))
    for mode, (axis, effect) in enumerate(zip(axes, effects, strict=True)):
        if axis.kind == "categorical":
            total += effect[axis.cell(table[:, mode])]
    return total


Base = Trend | Products

BASES: Final = ("power", "products")
"""Kinds of bases to choose from. A third one, ``"level"``, the mean, is for tensors without a base;
files contain it as a power law with exponents of 0."""


def fit_base(kind: str, axes: Sequence[TensorAxis], table: Floats, values: Floats) -> Base:
    """Return the base of a *kind* for *values*, logarithms, at the rows of *table*."""
    trend = fit_trend(axes, table, values)
    if kind == "power":
        return trend
    if kind == "products":
        return fit_products(axes, table, values, trend)
    return Trend(float(values.mean()), [np.zeros_like(effect) for effect in trend.effects])


def choose_base(
    axes: Sequence[TensorAxis], table: Floats, values: Floats, folds: int, seed: int
) -> str:
    """Return the kind of base with the smaller cross-validated error."""
    errors = dict.fromkeys(BASES, 0.0)
    for kind in BASES:
        for out in each_left_out(len(table), folds, seed):
            base = fit_base(kind, axes, table[~out], values[~out])
            errors[kind] += float(np.abs(base.values(axes, table[out]) - values[out]).sum())
    return min(BASES, key=lambda kind: errors[kind])


def base_to_json(base: Base) -> dict[str, Any]:
    """Return *base* as plain data."""
    if isinstance(base, Trend):
        return {"kind": "power", "level": base.level, "effects": base.effects}
    return {
        "kind": "products",
        "exponents": base.exponents,
        "coefficients": base.coefficients,
        "effects": base.effects,
    }


def read_base(node: JsonNode, axes: Sequence[TensorAxis]) -> Base:
    """Read what :func:`base_to_json` wrote."""
    kind = node["kind"].one_of(BASES)
    effects = node["effects"].list_of(len(axes))
    other = 1 if kind == "power" else 0
    lengths = [len(axis) if axis.kind == "categorical" else other for axis in axes]
    levels = [effect.vector(length) for effect, length in zip(effects, lengths, strict=True)]
    if kind == "power":
        return Trend(node["level"].number(), levels)
    exponents = node["exponents"].matrix(len(axes))
    if (exponents != np.rint(exponents)).any() or (np.abs(exponents) >= 2**31).any():
        raise node["exponents"].expected("whole numbers of 32 bits")
    coefficients = node["coefficients"].vector(len(exponents))
    if not (len(exponents) and (coefficients > 0).all()):
        raise node["coefficients"].expected("positive numbers")
    return Products(exponents.astype(np.int64), coefficients, levels)
