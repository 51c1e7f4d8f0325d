"""Adaptive regression splines (MARS) and regression on sparse grids, in NumPy.

Two learners that sums of few functions are made of, for model_peers.py: Extra-P's relatives that
extrapolate. Both are piecewise linear in their columns, also beyond them.

MARS (J. H. Friedman, "Multivariate adaptive regression splines", Ann. Stat. 19, 1991) adds pairs
of hinges, times a function that it has already, as long as they reduce the squares most, and then
removes functions while generalised cross-validation says so. Packages of it for Python are either
not built for its present versions or take a minute for 512 samples of nine columns.

Sparse grids (D. Pflüger, Spatially Adaptive Sparse Grids for High-Dimensional Problems, 2010) have
hats of all widths, but products of narrow ones only in few dimensions. Hats at the ends continue
linearly, so that there are no grid points on the boundary.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Mars", "SparseGrid"]

MAX_KNOTS: Final = 16
"""Largest number of knots per column and function: quantiles of the values there."""
MAX_FUNCTIONS: Final = 61
"""Number of functions after which no pair of hinges is added."""
MIN_GAIN: Final = 1e-3
"""Share of the squares left over that a further pair must remove."""
MIN_SQUARE: Final = 1e-6
"""Share of a function's squares that must be left beside the others for it to be told from them."""
MAX_HATS: Final = 2000
"""Largest number of hats of a sparse grid: solving takes the time of their cube."""
RIDGES: Final = tuple(10.0**power for power in range(-8, 1))
"""Penalties on hats to choose from, by generalised cross-validation."""


@dataclass(frozen=True)
class Hinge:
    """The factor max(0, *side*·(x - *knot*)) of one column; x - *knot* of side 0."""

    column: int
    knot: float
    side: int

    def values(self, table: Floats) -> Floats:
        """Return the factor at each row of *table*."""
        apart = table[:, self.column] - self.knot
        return np.maximum(0.0, self.side * apart) if self.side else apart


def _product(factors: Sequence[Hinge], table: Floats) -> Floats:
    """Return the product of *factors* at each row of *table*."""
    found = np.ones(len(table))
    for factor in factors:
        found *= factor.values(table)
    return found


@dataclass
class _Pairs:
    """The pairs of hinges in one column times one function.

    ``hinges`` has their values beside the functions so far, float64 [2, knots, rows]. At the first
    knot, the least value, the pair is a line.
    """

    factors: tuple[Hinge, ...]
    column: int
    knots: Floats
    squares: Floats
    hinges: Floats

    @classmethod
    def of(cls, factors: tuple[Hinge, ...], column: int, table: Floats, own: Floats) -> _Pairs:
        """Return the pairs at quantiles of *column* where the function is not 0."""
        values = table[own > 0, column]
        knots = np.unique(
            np.quantile(values, np.linspace(0, 1, MAX_KNOTS + 2)[:-1], method="lower")
        )
        apart = table[:, column] - knots[:, None]
        hinges = np.stack([np.maximum(apart, 0.0), np.maximum(-apart, 0.0)]) * own
        hinges[:, 0] = apart[0] * own, np.zeros(len(own))
        return cls(factors, column, knots, (hinges**2).sum(axis=2), hinges)

    def without(self, direction: Floats) -> None:
        """Remove *direction*, of length 1, from the values."""
        self.hinges -= (self.hinges @ direction)[:, :, None] * direction

    def gains(self, left: Floats) -> Floats:
        """Return by how much each pair reduces the squares of *left*."""
        (a, c), (d, e) = (self.hinges**2).sum(axis=2), self.hinges @ left
        b = (self.hinges[0] * self.hinges[1]).sum(axis=1)
        # A hinge that the functions have already, such as one without rows, adds nothing.
        one, other = np.array([a, c]) > MIN_SQUARE * np.maximum(self.squares, 1e-300)
        a, c = np.where(one, a, 1.0), np.where(other, c, 1.0)
        d, e, b = np.where(one, d, 0.0), np.where(other, e, 0.0), np.where(one & other, b, 0.0)
        apart = a * c - b * b
        both = (c * d * d - 2 * b * d * e + a * e * e) / np.where(apart > 0, apart, 1.0)
        single = np.maximum(d * d / a, e * e / c)
        return np.where(apart > MIN_SQUARE * a * c, both, single)

    def pair(self, place: int) -> list[tuple[Hinge, ...]]:
        """Return the factors of both functions of a pair."""
        sides = (1, -1) if place else (0,)
        return [(*self.factors, Hinge(self.column, self.knots[place], side)) for side in sides]


@dataclass
class Mars:
    """Adaptive regression splines.

    Parameters
    ----------
    degree : int
        Largest number of hinges in a product.
    penalty : float, default=3.0
        Cost of a knot in coefficients.
    """

    degree: int
    penalty: float = 3.0
    functions: list[tuple[Hinge, ...]] = field(default_factory=list)

    def fit(self, table: Floats, values: Floats) -> Mars:
        """Add pairs of hinges, then remove functions."""
        added = self._added(table, values)
        design = np.column_stack([_product(factors, table) for factors in added])
        kept = self._pruned(design, values)
        self.functions = [added[place] for place in kept]
        self._weights = np.linalg.lstsq(design[:, kept], values, rcond=None)[0]
        return self

    def predict(self, table: Floats) -> Floats:
        """Return the sum at each row."""
        parts = zip(self._weights, self.functions, strict=True)
        return np.asarray(sum(weight * _product(factors, table) for weight, factors in parts))

    def _added(self, table: Floats, values: Floats) -> list[tuple[Hinge, ...]]:
        functions: list[tuple[Hinge, ...]] = []
        directions: list[Floats] = []
        offered: list[_Pairs] = []
        left = values.astype(np.float64)
        fresh: list[tuple[Hinge, ...]] = [()]
        while True:
            for factors in fresh:
                own = _product(factors, table)
                direction = own.copy()
                for _ in range(2):  # twice is enough for directions to be orthogonal
                    for other in directions:
                        direction -= (direction @ other) * other
                square = float(direction @ direction)
                if square <= MIN_SQUARE * float(own @ own):
                    continue
                direction /= np.sqrt(square)
                for pairs in offered:
                    pairs.without(direction)
                functions.append(factors)
                directions.append(direction)
                left -= (left @ direction) * direction
                if len(factors) < self.degree:
                    free = set(range(table.shape[1])) - {factor.column for factor in factors}
                    offered += self._offered(factors, sorted(free), table, own, directions)
            if len(functions) >= min(MAX_FUNCTIONS, len(values) // 2) or not offered:
                return functions
            gains = [pairs.gains(left) for pairs in offered]
            best = int(np.argmax([found.max() for found in gains]))
            if gains[best].max() <= MIN_GAIN * float(left @ left):
                return functions
            fresh = offered[best].pair(int(gains[best].argmax()))

    def _offered(
        self,
        factors: tuple[Hinge, ...],
        columns: Sequence[int],
        table: Floats,
        own: Floats,
        directions: Sequence[Floats],
    ) -> Iterator[_Pairs]:
        """Yield the pairs that a function is a factor of, beside all *directions*."""
        for column in columns:
            pairs = _Pairs.of(factors, column, table, own)
            for direction in directions:
                pairs.without(direction)
            yield pairs

    def _pruned(self, design: Floats, values: Floats) -> list[int]:
        """Return the functions of the least generalised cross-validation, the constant first."""
        kept = list(range(design.shape[1]))
        best, least = kept, np.inf
        while True:
            some = design[:, kept]
            inverse = np.linalg.pinv(some.T @ some, hermitian=True)
            weights = inverse @ (some.T @ values)
            squares = float(((values - some @ weights) ** 2).sum())
            spent = len(kept) + self.penalty * (len(kept) - 1) / 2
            error = squares / max(1 - spent / len(values), 1e-9) ** 2
            if error < least:
                best, least = list(kept), error
            if len(kept) == 1:
                return best
            lost = weights**2 / np.maximum(np.diag(inverse), np.finfo(np.float64).tiny)
            kept.pop(1 + int(lost[1:].argmin()))


@dataclass
class SparseGrid:
    """Regression on the hats of a sparse grid, with a penalty on narrow ones.

    Parameters
    ----------
    level : int
        Level of the grid; a lower one where it has more than 2000 hats.
    """

    level: int

    def fit(self, table: Floats, values: Floats) -> SparseGrid:
        """Choose the penalty by generalised cross-validation, and solve."""
        self._low = table.min(axis=0)
        self._width = np.maximum(np.ptp(table, axis=0), np.finfo(np.float64).tiny)
        level = self.level
        while (hats := list(_hats(table.shape[1], level))) and len(hats) > MAX_HATS and level > 1:
            level -= 1
        self._hats = hats
        # A hat that is half as wide counts four times as much.
        self._scale = np.array([0.5 ** sum(level - 1 for _, level, _ in hat) for hat in hats])
        design = self._design(table)
        # The constant, the first hat, is not penalised: values are about their mean.
        self._mean = float(values.mean())
        left, singular, right = np.linalg.svd(design, full_matrices=False)
        along = left.T @ (values - self._mean)
        rest = float(((values - self._mean) ** 2).sum() - (along**2).sum())
        best = np.inf
        for ridge in RIDGES:
            kept = singular**2 / (singular**2 + ridge * len(values))
            squares = rest + float((((1 - kept) * along) ** 2).sum())
            error = squares / max(1 - (kept.sum() + 1) / len(values), 1e-9) ** 2
            if error < best:
                best = error
                shrunk = kept * along / np.maximum(singular, np.finfo(np.float64).tiny)
                self._weights = right.T @ shrunk
        return self

    def predict(self, table: Floats) -> Floats:
        """Return the sum of the hats at each row."""
        return np.asarray(self._mean + self._design(table) @ self._weights)

    def _design(self, table: Floats) -> Floats:
        x = (table - self._low) / self._width
        known: dict[tuple[int, int, int], Floats] = {}
        found = np.empty((len(x), len(self._hats)))
        for place, hat in enumerate(self._hats):
            found[:, place] = self._scale[place]
            for one in hat:
                if one not in known:
                    known[one] = _hat(x[:, one[0]], *one[1:])
                found[:, place] *= known[one]
        return found


def _hats(columns: int, level: int) -> Iterator[tuple[tuple[int, int, int], ...]]:
    """Yield the hats of a sparse grid: column, level and place of each factor that is not 1."""

    def levels(first: int, left: int) -> Iterator[tuple[tuple[int, int], ...]]:
        yield ()
        for column in range(first, columns):
            for more in range(1, left + 1):
                for others in levels(column + 1, left - more):
                    yield ((column, more + 1), *others)

    for chosen in levels(0, level - 1):
        for places in product(*(range(1, 2**of, 2) for _, of in chosen)):
            yield tuple((*one, place) for one, place in zip(chosen, places, strict=True))


def _hat(x: Floats, level: int, place: int) -> Floats:
    """Return a hat, which at an end of the range continues linearly."""
    steps = 2.0**level * x
    if place == 1:
        return np.maximum(2.0 - steps, 0.0)
    if place == 2**level - 1:
        return np.maximum(steps - place + 1.0, 0.0)
    return np.maximum(1.0 - np.abs(steps - place), 0.0)
