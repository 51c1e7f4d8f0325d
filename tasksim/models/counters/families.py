"""Families of functions that a counter may follow: polynomials, exponentials, logarithms, powers.

All are linear in their coefficients, the counter itself or its logarithm. Which one it is, R²
says, as in N. Ding et al., "APMT: an automatic hardware counter-based performance modeling tool
for HPC applications"; or, by default, what is left out of the fit. Then there are two further ones:
``products``, polynomials without negative coefficients, which need fewer samples than there are
products of parameters; and ``beyond``, such a sum less a constant, and nothing where that is more:
accesses that a cache does not answer any more, once the data are larger than it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from tasksim.models.nonnegative import non_negative
from tasksim.models.validation.folds import fold_of_each

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tasksim.models.document import Node

    Table = NDArray[np.float64]

__all__ = ["FAMILIES", "By", "CounterFunction", "chosen_function"]

By = Literal["cv", "r2"]

FAMILIES: Final = ("polynomial", "exponential", "logarithm", "power", "products", "beyond")
"""The last three are not the paper's; they are tried where cross-validation chooses."""
SUMS: Final = ("polynomial", "products", "beyond")
"""Those that are sums of products of parameters."""
LEAST_ROWS: Final = 3
"""Of different parameters, for a family that has fewer coefficients the fewer rows there are."""
ROUNDS: Final = 20
"""In which the rows beyond a cache are looked for: three or four do."""
DEGREES: Final = (0, 1, 2, 3)
"""Of polynomials: loops over matrices are three deep, and a higher degree follows noise."""
FLOOR: Final = 1e-3
"""Errors are relative to a value, or to this part of the mean where it is less: what hardly ever
happens must not decide the fit."""
ALIKE: Final = 1.02
"""Errors within this factor are the same: the fewer coefficients are taken then."""
ALIKE_R2: Final = 1e-6
"""R² that differ by less are the same."""
LARGEST: Final = 600.0
"""The logarithm of the largest value: beyond the samples an exponential is a number yet."""
EXACT: Final = 1e-9
"""Relative errors below are those of arithmetic: such fits are all exact."""


@dataclass(frozen=True, eq=False)
class CounterFunction:
    """A counter as a function of the parameters.

    Attributes
    ----------
    family : str
        One of :data:`FAMILIES`.
    degree : int
        Of a polynomial, in all parameters together; else 1.
    scale : tuple of float
        Of each parameter: its largest value, so that powers are of numbers up to 1.
    coef : float64 array
        A constant first.
    r2 : float
        Of the fit, errors weighted as there.
    """

    family: str
    degree: int
    scale: tuple[float, ...]
    coef: NDArray[np.float64]
    r2: float = 1.0

    def __call__(self, table: Table) -> NDArray[np.float64]:
        """Return the counter for each row of *table*, not negative."""
        values = _features(self.family, self.degree, table, self.scale) @ self.coef
        if self.family in ("exponential", "power"):
            values = np.exp(np.minimum(values, LARGEST))
        result: NDArray[np.float64] = np.maximum(values, 0.0)
        return result

    def describe(self) -> str:
        """Return the family, for people: ``polynomial of degree 3``."""
        if self.family == "polynomial":
            return f"polynomial of degree {self.degree}"
        if self.family not in SUMS:
            return self.family
        powers = [
            d for d in range(self.degree + 1) for _ in range(comb(len(self.scale) + d - 1, d))
        ]
        degree = max(np.where(self.coef != 0, powers, 0).tolist())
        sum_of = f"polynomial of degree {degree} without negative coefficients"
        return sum_of if self.family == "products" else f"{sum_of} beyond a bound"

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "family": self.family, "degree": self.degree, "scale": self.scale, "coef": self.coef,
            "r2": self.r2,
        }  # fmt: skip

    @classmethod
    def from_json(cls, node: Node, parameters: int) -> CounterFunction:
        """Return what :meth:`to_json` wrote, of so many *parameters*."""
        family, degree = node["family"].one_of(FAMILIES), node["degree"].integer()
        if degree not in DEGREES:
            raise node["degree"].expected("a degree from 0 to 3")
        count = _count(family, degree, parameters)
        scale = tuple(node["scale"].vector(parameters).tolist())
        return cls(family, degree, scale, node["coef"].vector(count), node["r2"].number())


def chosen_function(
    table: Table,
    values: NDArray[np.float64],
    by: By = "cv",
    weights: NDArray[np.float64] | None = None,
) -> CounterFunction:
    """Return the function of the best family for a counter with *values* at the rows of *table*.

    *by* ``"cv"``: whose error on rows that were left out is least; ``"r2"``: whose R² is largest,
    of polynomials up to the third degree, exponentials and logarithms. Of the same, the one with
    fewer coefficients. Errors are relative to the values; or multiplied by *weights*.
    """
    scale = tuple(np.where(table.max(axis=0) > 0, table.max(axis=0), 1.0).tolist())
    if weights is None:
        weights = 1 / np.maximum(values, FLOOR * values.mean() or 1.0)
    else:
        weights = weights / (float((weights * values).mean()) or 1.0)
    best: tuple[float, CounterFunction] | None = None
    for family, degree in _candidates(table, values, by):
        function = _fitted(family, degree, scale, table, values, weights)
        if by == "r2":
            score = 1 - function.r2
            better = best is None or score < best[0] - ALIKE_R2
        else:
            score = max(EXACT, _left_out(family, degree, scale, table, values, weights))
            better = best is None or ALIKE * score < best[0]
        if better:
            best = score, function
    assert best is not None  # a constant always fits
    return best[1]


def _candidates(table: Table, values: NDArray[np.float64], by: By) -> Iterator[tuple[str, int]]:
    """Yield families and degrees that there are enough rows for, fewest coefficients first."""
    parameters, rows = table.shape[1], len(np.unique(table, axis=0))
    yield "polynomial", 0
    others = [("polynomial", 1)]
    if (values > 0).all():
        others.append(("exponential", 1))
    if (table > 0).all():
        others.append(("logarithm", 1))
        if (values > 0).all() and by == "cv":
            others.append(("power", 1))
    others += [("polynomial", degree) for degree in DEGREES[2:]]
    # As many rows again as coefficients: a fit through all points has no error of its own.
    yield from (c for c in others if parameters and _count(*c, parameters) < max(3, rows / 1.5))
    if by == "cv" and parameters and rows >= LEAST_ROWS and (table >= 0).all():
        yield "products", DEGREES[-1]
        yield "beyond", DEGREES[-1]


def _count(family: str, degree: int, parameters: int) -> int:
    return comb(parameters + degree, degree) if family in SUMS else 1 + parameters


def _features(family: str, degree: int, table: Table, scale: tuple[float, ...]) -> Table:
    scaled = table / np.array(scale) if table.shape[1] else table
    ones = np.ones((len(table), 1))
    if family in SUMS:
        products = (
            scaled[:, list(columns)].prod(axis=1)
            for power in range(1, degree + 1)
            for columns in combinations_with_replacement(range(table.shape[1]), power)
        )
        return np.column_stack([ones, *products])
    if family in ("logarithm", "power"):
        scaled = np.log(np.maximum(scaled, np.finfo(float).tiny))
    return np.column_stack([ones, scaled])


def _fitted(
    family: str, degree: int, scale: tuple[float, ...], table: Table,
    values: NDArray[np.float64], weights: NDArray[np.float64],
) -> CounterFunction:  # fmt: skip
    features = _features(family, degree, table, scale)
    if family in ("exponential", "power"):  # an error of the logarithm is a relative one
        found = np.linalg.lstsq(features, np.log(values), rcond=None)[0]
    elif family == "products":
        found = non_negative(features * weights[:, None], values * weights)
    elif family == "beyond":
        found = _beyond(features, values, weights)
    else:
        found = np.linalg.lstsq(features * weights[:, None], values * weights, rcond=None)[0]
    coef = found.astype(np.float64)
    function = CounterFunction(family, degree, scale, coef)
    mean = float((weights**2 @ values) / (weights**2).sum())
    total = float(((weights * (values - mean)) ** 2).sum())
    left = float(((weights * (values - function(table))) ** 2).sum())
    # What varies by rounding alone is constant: nothing is left to explain.
    r2 = 1 - left / total if total > EXACT**2 * len(values) else 1.0
    return CounterFunction(family, degree, scale, coef, r2)


def _beyond(
    features: Table, values: NDArray[np.float64], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the coefficients of a sum less a constant, by the rows where it is above nothing.

    Those with values are, and those that the sum so far says are.
    """
    signs = np.where(np.arange(features.shape[1]) == 0, -1.0, 1.0)
    design, target = features * signs * weights[:, None], values * weights
    inside = values > 0
    found = np.zeros(features.shape[1])
    for _ in range(ROUNDS if inside.any() else 0):
        found = signs * non_negative(design[inside], target[inside])
        wider = inside | (features @ found > 0)
        if (wider == inside).all():
            break
        inside = wider
    return found


def _left_out(
    family: str, degree: int, scale: tuple[float, ...], table: Table,
    values: NDArray[np.float64], weights: NDArray[np.float64],
) -> float:  # fmt: skip
    """Return the mean relative error on rows that were left out of the fit."""
    rows, group = np.unique(table, axis=0, return_inverse=True)
    if len(rows) < 2:
        return 0.0 if degree == 0 else np.inf
    fold = fold_of_each(len(rows))[group.ravel()]
    error = np.zeros(len(values))
    for index in np.unique(fold):
        out = fold == index
        kept = ~out
        function = _fitted(family, degree, scale, table[kept], values[kept], weights[kept])
        error[out] = weights[out] * np.abs(function(table[out]) - values[out])
    return float(error.mean())
