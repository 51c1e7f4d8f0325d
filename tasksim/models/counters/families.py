"""Families of functions for a counter, such as polynomials, exponentials and power laws.

All are linear in their coefficients, either for the counter or for its logarithm. R² chooses one,
as in N. Ding et al., "APMT: an automatic hardware counter-based performance modeling tool
for HPC applications"; by default, the cross-validated error does. There are three additional ones:
``products``, polynomials without negative coefficients, which need fewer samples than there are
products of parameters; ``beyond``, such a polynomial minus a constant, at least 0: accesses that a
cache no longer serves once the data exceed it; and ``terms``, a constant and at most two terms
``x^i log(x)^j`` of one parameter, the performance model normal form (A. Calotoiu et al., "Using
automated performance modeling to find scalability bugs in complex codes", SC 2013). Work on blocks,
their borders and trees of messages are such sums, which few samples give exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement
from math import comb
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np

from tasksim.models.samples import HITS, REACHED
from tasksim.models.terms.leastsquares import non_negative
from tasksim.models.validation.crossvalidation import fold_of_each

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tasksim.base.arrays import Floats
    from tasksim.base.documents.json_document import JsonNode

__all__ = ["FAMILIES", "CounterFunction", "Criterion", "accesses", "chosen_function", "hits"]

Criterion = Literal["cv", "r2"]

FAMILIES: Final = (
    "polynomial", "exponential", "logarithm", "power", "products", "beyond", "terms",
)  # fmt: skip
"""Families of functions; the last four extend the paper's, and are used with cross-validation
only."""
SUM_FAMILIES: Final = ("polynomial", "products", "beyond")
"""Families that are sums of products of parameters."""
MIN_ROWS: Final = 3
"""Minimum number of distinct rows for families whose coefficients adapt to the number of rows."""
MAX_ITERATIONS: Final = 20
"""Maximum number of iterations to find the rows beyond a cache: three or four suffice."""
DEGREES: Final = (0, 1, 2, 3)
"""Degrees of polynomials: loops over matrices are three deep, and higher degrees follow noise."""
MIN_REFERENCE_SHARE: Final = 1e-3
"""Smallest reference of relative errors, as a share of the mean: rare events must not dominate the
fit."""
SAME_ERROR_FACTOR: Final = 1.02
"""Factor within which errors count as equal: the function with fewer coefficients is taken."""
SAME_R2_DIFFERENCE: Final = 1e-6
"""Difference below which two R² count as equal."""
TERM_EXPONENTS: Final = (
    (0.0, 0), (0.0, 1), (1 / 3, 0), (1 / 2, 0), (2 / 3, 0), (1.0, 0), (1.0, 1), (4 / 3, 0),
    (3 / 2, 0), (2.0, 0), (3.0, 0),
)  # fmt: skip
"""Exponents i and j of the terms ``x^i log(x)^j``, the constant first."""
MOST_TERMS: Final = 3
"""Largest number of terms in one function, with the constant."""
ERROR_FACTOR_OF_TERM: Final = 0.5
"""Factor by which one more term must lower the error."""
ROWS_PER_TERM, COUNTED_ERROR = 3, 1e-3
"""Number of rows for each term, and the relative error of counts: with fewer rows, a sum that
follows them less closely follows noise, as some sum always does."""
MAX_EXPONENT: Final = 600.0
"""Logarithm of the largest value, to avoid an overflow of extrapolated exponentials."""
EXACT_ERROR: Final = 1e-9
"""Relative error below which a fit counts as exact: the rest is rounding."""


class _Shape(NamedTuple):
    """A function without its coefficients: its family, its degree, and its terms, if it has any."""

    family: str
    degree: int = 1
    terms: tuple[tuple[float, int], ...] = ()


@dataclass(frozen=True, eq=False)
class CounterFunction:
    """A counter as a function of the parameters.

    Attributes
    ----------
    family : str
        One of :data:`FAMILIES`.
    degree : int
        Total degree of a polynomial; otherwise 1.
    scale : tuple of float
        Largest value of each parameter, so that powers are of numbers up to 1.
    coef : float64 array
        The coefficients, the constant first.
    r2 : float
        R² of the fit, with its weights.
    terms : tuple of (float, int)
        Of the family ``terms``: the exponents i and j of each ``x^i log(x)^j``.
    """

    family: str
    degree: int
    scale: tuple[float, ...]
    coef: Floats
    r2: float = 1.0
    terms: tuple[tuple[float, int], ...] = ()

    def __call__(self, table: Floats) -> Floats:
        """Return the counter for each row of *table*, at least 0."""
        shape = _Shape(self.family, self.degree, self.terms)
        values = _features(shape, table, self.scale) @ self.coef
        if self.family in ("exponential", "power"):
            values = np.exp(np.minimum(values, MAX_EXPONENT))
        return np.asarray(np.maximum(values, 0.0))

    def describe(self) -> str:
        """Return the family as text: ``polynomial of degree 3``."""
        if self.family == "polynomial":
            return f"polynomial of degree {self.degree}"
        if self.family == "terms":
            return f"sum of {', '.join(map(_text_of_term, self.terms))}"
        if self.family not in SUM_FAMILIES:
            return self.family
        powers = [
            d for d in range(self.degree + 1) for _ in range(comb(len(self.scale) + d - 1, d))
        ]
        degree = max(np.where(self.coef != 0, powers, 0).tolist())
        sum_of = f"polynomial of degree {degree} without negative coefficients"
        return sum_of if self.family == "products" else f"{sum_of} beyond a bound"

    def to_json(self) -> dict[str, Any]:
        """Return the function as plain data."""
        found = {
            "family": self.family, "degree": self.degree, "scale": self.scale, "coef": self.coef,
            "r2": self.r2,
        }  # fmt: skip
        return found | {"terms": [list(term) for term in self.terms]} if self.terms else found

    @classmethod
    def from_json(cls, node: JsonNode, parameters: int) -> CounterFunction:
        """Read what :meth:`to_json` wrote for a number of *parameters*."""
        family, degree = node["family"].one_of(FAMILIES), node["degree"].integer()
        if degree not in DEGREES:
            raise node["degree"].expected("a degree from 0 to 3")
        terms: tuple[tuple[float, int], ...] = ()
        if family == "terms":
            known = {(float(i), float(j)): (i, j) for i, j in TERM_EXPONENTS}
            found = [tuple(term.vector(2).tolist()) for term in node["terms"]]
            if parameters != 1 or not found or not set(found) <= set(known):
                raise node["terms"].expected("pairs of exponents, for one parameter")
            terms = tuple(known[pair] for pair in found)
        count = len(terms) or _count(_Shape(family, degree), parameters)
        scale = tuple(node["scale"].vector(parameters).tolist())
        coef = node["coef"].vector(count)
        return cls(family, degree, scale, coef, node["r2"].number(), terms)


def chosen_function(
    table: Floats, values: Floats, by: Criterion = "cv", weights: Floats | None = None
) -> CounterFunction:
    """Return the best function for a counter with *values* at the rows of *table*.

    *by* ``"cv"``: the one with the smallest cross-validated error; ``"r2"``: the largest R² among
    polynomials up to the third degree, exponentials and logarithms. Among equal ones, the one with
    fewer coefficients is taken. Errors are relative to the values, or multiplied by *weights*.
    """
    scale = tuple(np.where(table.max(axis=0) > 0, table.max(axis=0), 1.0).tolist())
    if weights is None:
        weights = 1 / np.maximum(values, MIN_REFERENCE_SHARE * values.mean() or 1.0)
    else:
        weights = weights / (float((weights * values).mean()) or 1.0)
    best: tuple[float, CounterFunction] | None = None
    for shape in _candidates(table, values, weights, scale, by):
        function = _fitted(shape, scale, table, values, weights)
        if by == "r2":
            score = 1 - function.r2
            better = best is None or score < best[0] - SAME_R2_DIFFERENCE
        else:
            score = max(EXACT_ERROR, _left_out(shape, scale, table, values, weights))
            better = best is None or SAME_ERROR_FACTOR * score < best[0]
        if better:
            best = score, function
    assert best is not None  # a constant always fits
    return best[1]


def _candidates(
    table: Floats, values: Floats, weights: Floats, scale: tuple[float, ...], by: Criterion
) -> Iterator[_Shape]:
    """Yield shapes with fewer coefficients than rows, fewest coefficients first."""
    parameters, rows = table.shape[1], len(np.unique(table, axis=0))
    yield _Shape("polynomial", 0)
    others = [_Shape("polynomial")]
    if by == "r2" and (values > 0).all():  # no count grows so fast: extrapolated, it is senseless
        others.append(_Shape("exponential"))
    if (table > 0).all():
        others.append(_Shape("logarithm"))
        if (values > 0).all() and by == "cv":
            others.append(_Shape("power"))
    others += [_Shape("polynomial", degree) for degree in DEGREES[2:]]
    # With as many coefficients as rows, a fit passes through all points and shows no error.
    yield from (c for c in others if parameters and _count(c, parameters) < max(3, rows / 1.5))
    if by == "cv" and parameters and rows >= MIN_ROWS and (table >= 0).all():
        yield _Shape("products", DEGREES[-1])
        yield _Shape("beyond", DEGREES[-1])
        if parameters == 1 and (table > 0).all():
            yield _best_terms(scale, table, values, weights)


def _best_terms(scale: tuple[float, ...], table: Floats, values: Floats, weights: Floats) -> _Shape:
    """Return the terms with the least cross-validated error, one more only where it halves it."""
    rows, group = np.unique(table, axis=0, return_inverse=True)
    fold = fold_of_each(len(rows))[group.ravel()]
    every = _features(_Shape("terms", terms=TERM_EXPONENTS), table, scale) * weights[:, None]
    target = values * weights
    best: tuple[float, _Shape] | None = None
    for count in range(1, min(MOST_TERMS, len(rows) - 1) + 1):
        # Three terms have the constant among them: others follow anything.
        subsets = combinations(range(len(TERM_EXPONENTS)), count)
        chosen = [subset for subset in subsets if count < MOST_TERMS or 0 in subset]
        design = every[:, chosen].swapaxes(0, 1)
        error = np.zeros(len(chosen))
        for index in np.unique(fold):
            out = fold == index
            found = np.linalg.pinv(design[:, ~out]) @ target[~out]
            error += np.abs((design[:, out] @ found[:, :, None])[:, :, 0] - target[out]).sum(axis=1)
        least = int(np.argmin(error))
        score = max(EXACT_ERROR, float(error[least]) / len(values))
        enough = len(rows) >= ROWS_PER_TERM * count or score < COUNTED_ERROR
        if best is None or (enough and score < ERROR_FACTOR_OF_TERM * best[0]):
            best = score, _Shape("terms", terms=tuple(TERM_EXPONENTS[k] for k in chosen[least]))
    assert best is not None
    return best[1]


def _count(shape: _Shape, parameters: int) -> int:
    if shape.family in SUM_FAMILIES:
        return comb(parameters + shape.degree, shape.degree)
    return 1 + parameters


def _text_of_term(term: tuple[float, int]) -> str:
    power, logarithms = term
    power_text = "" if power == 0 else "x" if power == 1 else f"x^{power:.3g}"
    return " ".join(filter(None, (power_text, "log x" if logarithms else ""))) or "1"


def _features(shape: _Shape, table: Floats, scale: tuple[float, ...]) -> Floats:
    scaled = table / np.array(scale) if table.shape[1] else table
    ones = np.ones((len(table), 1))
    if shape.family in SUM_FAMILIES:
        products = (
            scaled[:, list(columns)].prod(axis=1)
            for power in range(1, shape.degree + 1)
            for columns in combinations_with_replacement(range(table.shape[1]), power)
        )
        return np.column_stack([ones, *products])
    least = np.finfo(float).tiny
    if shape.family == "terms":
        # The logarithm of x / scale would need x beside x log x.
        logarithm = np.log(np.maximum(table, least))
        return np.column_stack([scaled**i * logarithm**j for i, j in shape.terms])
    if shape.family in ("logarithm", "power"):
        scaled = np.log(np.maximum(scaled, least))
    return np.column_stack([ones, scaled])


def _fitted(
    shape: _Shape, scale: tuple[float, ...], table: Floats, values: Floats, weights: Floats
) -> CounterFunction:
    family, features = shape.family, _features(shape, table, scale)
    if family in ("exponential", "power"):  # errors of the logarithm are relative errors
        found = np.linalg.lstsq(features, np.log(values), rcond=None)[0]
    elif family == "products":
        found = non_negative(features * weights[:, None], values * weights)
    elif family == "beyond":
        found = _beyond(features, values, weights)
    else:
        found = np.linalg.lstsq(features * weights[:, None], values * weights, rcond=None)[0]
    coef = found.astype(np.float64)
    function = CounterFunction(family, shape.degree, scale, coef, terms=shape.terms)
    mean = float((weights**2 @ values) / (weights**2).sum())
    total = float(((weights * (values - mean)) ** 2).sum())
    left = float(((weights * (values - function(table))) ** 2).sum())
    # Variation by rounding alone leaves nothing to explain.
    r2 = 1 - left / total if total > EXACT_ERROR**2 * len(values) else 1.0
    return CounterFunction(family, shape.degree, scale, coef, r2, shape.terms)


def _beyond(features: Floats, values: Floats, weights: Floats) -> Floats:
    """Return the coefficients of a sum minus a constant, fitted to the rows where it is positive.

    These are the rows with positive values, and those with a positive sum in an iteration.
    """
    signs = np.where(np.arange(features.shape[1]) == 0, -1.0, 1.0)
    design, target = features * signs * weights[:, None], values * weights
    inside = values > 0
    found = np.zeros(features.shape[1])
    for _ in range(MAX_ITERATIONS if inside.any() else 0):
        found = signs * non_negative(design[inside], target[inside])
        wider = inside | (features @ found > 0)
        if (wider == inside).all():
            break
        inside = wider
    return found


def _left_out(
    shape: _Shape, scale: tuple[float, ...], table: Floats, values: Floats, weights: Floats
) -> float:
    """Return the cross-validated mean relative error."""
    rows, group = np.unique(table, axis=0, return_inverse=True)
    if len(rows) < 2:
        return 0.0 if shape.degree == 0 else np.inf
    fold = fold_of_each(len(rows))[group.ravel()]
    error = np.zeros(len(values))
    for index in np.unique(fold):
        out = fold == index
        kept = ~out
        function = _fitted(shape, scale, table[kept], values[kept], weights[kept])
        error[out] = weights[out] * np.abs(function(table[out]) - values[out])
    return float(error.mean())


def accesses(
    counters: Mapping[str, Floats], levels: Sequence[str], by: Criterion
) -> dict[str, Floats]:
    """Return the columns to fit: hits of each of the *levels*, or accesses that reach it.

    >>> found = accesses({"l1_hits": np.array([9.0]), "memory_accesses": np.array([1.0])},
    ...                  ["l1", "memory"], "cv")
    >>> {name: column.tolist() for name, column in found.items()}
    {'l1_reached': [10.0], 'memory_accesses': [1.0]}
    """
    if by == "r2":
        return {HITS[level]: counters[HITS[level]] for level in levels}
    found = np.cumsum([counters[HITS[level]] for level in reversed(levels)], axis=0)[::-1]
    return {REACHED[level]: column for level, column in zip(levels, found, strict=True)}


def hits(
    functions: Mapping[str, CounterFunction], levels: Sequence[str], table: Floats
) -> dict[str, Floats]:
    """Return the hits of each level: the accesses that reach it minus those that pass it."""
    found, beyond = {}, np.zeros(len(table))
    for level in reversed(levels):
        if REACHED[level] in functions:
            reached = np.maximum(functions[REACHED[level]](table), beyond)
            found[level], beyond = reached - beyond, reached
        else:
            found[level] = functions[HITS[level]](table)
    return {level: found[level] for level in levels}
