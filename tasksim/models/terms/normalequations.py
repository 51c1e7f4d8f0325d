"""Normal equations of a weighted regression, which learn further rows without the earlier ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tasksim.models.terms.leastsquares import CONFIDENCE_LEVEL, Coefficients, column_lengths

if TYPE_CHECKING:
    from tasksim.base.arrays import Floats
    from tasksim.base.documents.json_document import Node
    from tasksim.models.terms.leastsquares import Regression

__all__ = ["NormalEquations"]


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """The triangular factor of a weighted design with the durations as its last column.

    A factor instead of the products of columns: their condition is the square of its. Further rows
    are appended to it and factored again, so that the result is that of all rows at once (G. H.
    Golub and C. F. Van Loan, Matrix Computations, section 6.5).

    Attributes
    ----------
    triangle
        float64 [terms + 1, terms + 1], upper.
    count
        Number of samples.
    weight, weighted_s
        The sums of the weights, and of weights times durations: R² is about their mean.
    """

    triangle: Floats
    count: int
    weight: float
    weighted_s: float

    @classmethod
    def of(cls, regression: Regression) -> NormalEquations:
        """Return the normal equations of a *regression* of statsmodels."""
        weights = np.asarray(regression.results.model.weights, np.float64)
        nothing = cls(np.zeros((1 + regression.design.shape[1],) * 2), 0, 0.0, 0.0)
        return nothing.with_rows(regression.design, regression.response, weights)

    def with_rows(self, design: Floats, durations_s: Floats, weights: Floats) -> NormalEquations:
        """Return the equations with further rows of the *design*."""
        root = np.sqrt(weights)[:, None]
        rows = np.column_stack([design, durations_s]) * root
        stacked = np.vstack([self.triangle, rows])
        scale = column_lengths(stacked)
        triangle = np.asarray(np.linalg.qr(stacked / scale, mode="r") * scale, np.float64)
        return NormalEquations(
            triangle,
            self.count + len(rows),
            self.weight + float(weights.sum()),
            self.weighted_s + float(weights @ durations_s),
        )

    def solved(self, *, constant: bool) -> Coefficients:
        """Return the solution; *constant* says whether R² is about the mean, or about 0."""
        from scipy.special import stdtr, stdtrit

        terms = len(self.triangle) - 1
        upper, right = self.triangle[:terms, :terms], self.triangle[:terms, terms]
        scale = column_lengths(upper)
        inverse = np.linalg.pinv(upper / scale)
        coef = inverse @ right / scale
        residual = float(self.triangle[terms, terms] ** 2)
        freedom = self.count - terms
        errors = np.sqrt((inverse**2).sum(axis=1) * residual / freedom) / scale
        reach = float(stdtrit(freedom, (1 + CONFIDENCE_LEVEL) / 2)) * errors
        with np.errstate(divide="ignore", invalid="ignore"):
            pvalues = 2 * stdtr(freedom, -np.abs(coef / errors))
        total = float((self.triangle[:, terms] ** 2).sum())
        if constant:
            total -= self.weighted_s**2 / self.weight
        rsquared = 1 - residual / total if total > 0 else float("nan")
        adjusted = 1 - (1 - rsquared) * (self.count - constant) / freedom
        intervals = np.column_stack([coef - reach, coef + reach])
        return Coefficients(coef, errors, intervals, pvalues, rsquared, adjusted)

    def to_json(self) -> dict[str, Any]:
        """Return the equations as plain data."""
        return dict(vars(self))

    @classmethod
    def from_json(cls, node: Node, terms: int) -> NormalEquations:
        """Read what :meth:`to_json` returned for a number of *terms*."""
        rows = list(node["triangle"])
        if len(rows) != terms + 1:
            raise node["triangle"].expected(f"{terms + 1} rows")
        triangle = np.array([row.vector(terms + 1) for row in rows])
        count = node["count"].integer()
        if count <= terms:
            raise node["count"].expected(f"more than {terms}, the number of terms")
        return cls(triangle, count, node["weight"].positive(), node["weighted_s"].number())
