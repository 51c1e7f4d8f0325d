"""Multivariate adaptive regression splines, small: products of hinges, chosen greedily.

After J. Friedman, "Multivariate adaptive regression splines", Annals of Statistics 19 (1), 1991.
Hinges are added in pairs where they lower the squared error most, then left out one by one as long
as generalised cross-validation gains.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["Splines"]

KNOT_CANDIDATES: Final = 12
"""Candidates for a knot per parameter: quantiles of its values."""
SEARCH_ROWS: Final = 1024
"""Most rows that hinges are chosen by; coefficients are fitted to all rows."""
KNOT_COST: Final = 3.0
"""Degrees of freedom that a knot costs, as Friedman advises."""
RELATIVE_GAIN: Final = 1e-4
"""Smallest part of the squared error that a pair of hinges must gain."""
RELATIVE_SHRINKAGE: Final = 1e-9
"""Shrinkage, relative to the mean square of a column, that keeps normal equations solvable."""
ROUNDING_SHARE: Final = 1e-12
"""Share of the squared values below which an error is rounding, and fewer terms are better."""

Hinge = tuple[int, float, int]
"""Parameter, knot, and 1 for max(0, x - knot), -1 for max(0, knot - x)."""


@dataclass
class Splines:
    """A sum of products of hinges.

    Parameters
    ----------
    degree
        Most parameters in a product.
    most
        Most terms before some are left out.
    """

    degree: int = 2
    most: int = 31
    terms_: list[tuple[Hinge, ...]] = field(default_factory=list)
    coefficients_: Any = None

    def fit(self, table: Floats, values: Floats) -> Self:
        """Fit to *values* at the rows of *table*."""
        step = max(1, len(table) // SEARCH_ROWS)
        some, wanted = table[::step][:SEARCH_ROWS], values[::step][:SEARCH_ROWS]
        terms = self._pruned(self._grown(some, wanted), some, wanted)
        columns = _columns(terms, table)
        self.terms_, self.coefficients_ = terms, _solved(columns, values)
        return self

    def predict(self, table: Floats) -> Floats:
        """Return values at the rows of *table*."""
        return np.asarray(_columns(self.terms_, table) @ self.coefficients_)

    def _grown(self, table: Floats, values: Floats) -> list[tuple[Hinge, ...]]:
        terms: list[tuple[Hinge, ...]] = [()]
        knots = [
            np.unique(np.quantile(c, np.linspace(0, 1, KNOT_CANDIDATES + 2)[1:-1])) for c in table.T
        ]
        basis = np.full((len(table), 1), 1 / np.sqrt(len(table)))
        residual = values - basis @ (basis.T @ values)
        total = float(residual @ residual)
        while len(terms) + 2 <= self.most:
            best = self._best_pair(table, terms, knots, basis, residual)
            if best is None or best[0] <= RELATIVE_GAIN * total:
                break
            _, parent, mode, knot = best
            for side in (1, -1):
                term = (*parent, (mode, knot, side))
                column = _column(term, table)
                # Twice: once leaves rounding errors of columns that are nearly dependent.
                apart = column - basis @ (basis.T @ column)
                apart -= basis @ (basis.T @ apart)
                size = float(np.linalg.norm(apart))
                if size > 1e-9 * float(np.linalg.norm(column) or 1.0):
                    basis = np.column_stack([basis, apart / size])
                    residual = residual - basis[:, -1] * float(basis[:, -1] @ residual)
                    terms.append(term)
        return terms

    def _best_pair(
        self, table: Floats, terms: list[tuple[Hinge, ...]], knots: list[Floats], basis: Floats,
        residual: Floats,
    ) -> tuple[float, tuple[Hinge, ...], int, float] | None:  # fmt: skip
        """Return the gain, the parent, the parameter and the knot of the best pair of hinges."""
        best = None
        for parent in terms:
            if len(parent) >= self.degree:
                continue
            factor = _column(parent, table)
            for mode, candidates in enumerate(knots):
                if any(mode == used for used, _, _ in parent) or not len(candidates):
                    continue
                offset = table[:, mode : mode + 1] - candidates
                gains = np.zeros(len(candidates))
                for hinges in (np.maximum(offset, 0.0), np.maximum(-offset, 0.0)):
                    columns = factor[:, None] * hinges
                    apart = columns - basis @ (basis.T @ columns)
                    squares = (apart**2).sum(axis=0)
                    usable = squares > 1e-9 * np.maximum((columns**2).sum(axis=0), 1e-30)
                    gained = (apart.T @ residual) ** 2 / np.where(usable, squares, 1.0)
                    gains += np.where(usable, gained, 0.0)
                at = int(np.argmax(gains))
                if best is None or gains[at] > best[0]:
                    best = (float(gains[at]), parent, mode, float(candidates[at]))
        return best

    def _pruned(
        self, terms: list[tuple[Hinge, ...]], table: Floats, values: Floats
    ) -> list[tuple[Hinge, ...]]:
        columns = _columns(terms, table)
        gram, moment, square = columns.T @ columns, columns.T @ values, float(values @ values)
        kept = list(range(len(terms)))
        best = (_criterion(gram, moment, square, kept, len(table)), list(kept))
        while len(kept) > 1:
            tried = [[k for k in kept if k != out] for out in kept if out != 0]
            judged = [(_criterion(gram, moment, square, part, len(table)), part) for part in tried]
            error, kept = min(judged)
            if error <= best[0]:
                best = (error, list(kept))
        return [terms[i] for i in best[1]]


def _column(term: tuple[Hinge, ...], table: Floats) -> Floats:
    found = np.ones(len(table))
    for mode, knot, side in term:
        found *= np.maximum(side * (table[:, mode] - knot), 0.0)
    return found


def _columns(terms: list[tuple[Hinge, ...]], table: Floats) -> Floats:
    return np.column_stack([_column(term, table) for term in terms])


def _solved(columns: Floats, values: Floats) -> Floats:
    gram = columns.T @ columns
    gram[np.diag_indices_from(gram)] *= 1 + RELATIVE_SHRINKAGE
    return np.asarray(np.linalg.lstsq(gram, columns.T @ values, rcond=None)[0])


def _criterion(gram: Floats, moment: Floats, square: float, kept: list[int], rows: int) -> float:
    """Return the generalised cross-validation of the terms *kept*."""
    part = gram[np.ix_(kept, kept)].copy()
    part[np.diag_indices_from(part)] *= 1 + RELATIVE_SHRINKAGE
    found = np.linalg.lstsq(part, moment[kept], rcond=None)[0]
    found = np.asarray(found)
    off = square - 2 * found @ moment[kept] + found @ gram[np.ix_(kept, kept)] @ found
    error = max(float(off), ROUNDING_SHARE * square)
    freedom = min(len(kept) + KNOT_COST * (len(kept) - 1) / 2, 0.9 * rows)
    return float(error / rows / (1 - freedom / rows) ** 2)
