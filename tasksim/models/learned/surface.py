"""A quadratic response surface, fitted by ridge regression.

It has a coefficient per column and one per product of two columns, as in the designs of G. E. P.
Box and K. B. Wilson ("On the experimental attainment of optimum conditions", J. R. Stat. Soc. B 13,
1951). It takes the smooth part of a residual, which trees would need many steps for.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.base.arrays import Floats, Indices

__all__ = ["RIDGES", "Moments", "Surface", "pairs_of"]

RIDGES: Final = (1e-6, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, np.inf)
"""Ridges of the products to choose from, in variances of a column. The last leaves them out."""
LINEAR_RIDGE: Final = 1e-6
"""Ridge of the columns themselves: those that depend on each other share a slope."""
MAX_PAIRS: Final = 400
"""Maximum number of products; if there would be more, those with categories are left out."""


@dataclass(frozen=True, eq=False)
class Surface:
    """A quadratic function of columns.

    Attributes
    ----------
    level
        The constant.
    slopes
        float64 [columns].
    pairs
        intp [products, 2]: the columns of each product.
    bends
        float64 [products].
    """

    level: float
    slopes: Floats
    pairs: Indices
    bends: Floats

    def predict(self, table: Floats) -> Floats:
        """Return the value at each row of *table*."""
        # The products' coefficients as a triangular matrix.
        bent = np.zeros((len(self.slopes), len(self.slopes)))
        bent[self.pairs[:, 0], self.pairs[:, 1]] = self.bends
        return np.asarray(self.level + np.einsum("ij,ij->i", table @ bent + self.slopes, table))

    def scaled(self, factor: float) -> Surface:
        """Return the surface with all values multiplied by *factor*."""
        return Surface(factor * self.level, factor * self.slopes, self.pairs, factor * self.bends)

    def plus(self, other: Surface) -> Surface:
        """Return the sum of this surface and *other*, of the same columns."""
        pairs = np.concatenate([self.pairs, other.pairs])
        pairs, place = np.unique(pairs, axis=0, return_inverse=True)
        bends = np.zeros(len(pairs))
        np.add.at(bends, place.ravel(), np.concatenate([self.bends, other.bends]))
        return Surface(self.level + other.level, self.slopes + other.slopes, pairs, bends)


@dataclass(frozen=True, eq=False)
class Moments:
    """The moments of columns, products and values, from which surfaces are fitted."""

    pairs: Indices
    center: Floats
    gram: Floats
    side: Floats
    mean: float
    columns: int

    @classmethod
    def of(cls, table: Floats, values: Floats, pairs: Indices) -> Moments:
        """Return the moments of *values* at the rows of *table*."""
        design = np.hstack([table, table[:, pairs[:, 0]] * table[:, pairs[:, 1]]])
        center, mean = design.mean(axis=0), float(values.mean())
        design -= center
        count = len(table)
        gram, side = design.T @ design / count, (values - mean) @ design / count
        return cls(pairs, center, gram, side, mean, table.shape[1])

    def at(self, ridge: float) -> Surface:
        """Return the surface with this *ridge* of its products."""
        used = len(self.gram) if np.isfinite(ridge) else self.columns
        gram = self.gram[:used, :used].copy()
        spread = np.diag(gram).copy()
        spread[spread <= np.finfo(np.float64).eps] = 1.0
        shrink = np.full(used, ridge if np.isfinite(ridge) else 0.0)
        shrink[: self.columns] = LINEAR_RIDGE
        gram[np.diag_indices(used)] += shrink * spread
        found: Floats = np.asarray(np.linalg.solve(gram, self.side[:used]), dtype=np.float64)
        level = self.mean - float(self.center[:used] @ found)
        slopes, bends = found[: self.columns], found[self.columns :]
        return Surface(level, slopes, self.pairs[: len(bends)], bends)


def pairs_of(parameters: Sequence[int], categorical: Sequence[bool]) -> Indices:
    """Return the pairs of columns whose products a surface has.

    Parameters
    ----------
    parameters : sequence of int
        The parameter that each column belongs to.
    categorical : sequence of bool
        Whether the column stands for a category: the products of two categories of a parameter
        are 0, and the square of one is itself.
    """
    found = [
        (a, b)
        for a, b in combinations_with_replacement(range(len(parameters)), 2)
        if not (categorical[a] and parameters[a] == parameters[b])
    ]
    if len(found) > MAX_PAIRS:
        found = [(a, b) for a, b in found if not (categorical[a] or categorical[b])]
    return np.array(found[:MAX_PAIRS], dtype=np.intp).reshape(-1, 2)
