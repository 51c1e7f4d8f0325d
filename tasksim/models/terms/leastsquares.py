"""Weighted and non-negative least squares, with confidence intervals, and power laws.

Normal equations learn further rows without the earlier ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.extras import needed_for
from tasksim.models.quantiles import group_means

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.base.arrays import Floats, Indices
    from tasksim.base.documents.json_document import JsonNode
    from tasksim.models import Weights

__all__ = [
    "LEAST_S",
    "Coefficients",
    "Fit",
    "NormalEquations",
    "TermRegression",
    "aliased",
    "column_lengths",
    "fit_design",
    "fit_power",
    "log_normal",
    "logarithms",
    "non_negative",
    "relative_reference",
    "repeated_median",
    "variance_inflation",
]

CONFIDENCE_LEVEL = 0.95
"""Confidence level of the intervals of coefficients: the usual one."""
ALIASED_SHARE = 1e-9
"""Distance of a column of length 1 to the space of the others below which it is a combination of
them: a thousand times the rounding error of columns with a condition number of 1e4."""
MAX_ITERATIONS = 30
"""Maximum number of iterations of the weights, which converged in 9 to 12 on generated durations;
if the terms do not fit, they may cycle."""
CONVERGED_CHANGE = 1e-10
"""Relative change of weights at convergence: coefficients then agree to ten digits."""


@dataclass(frozen=True)
class Coefficients:
    """Coefficients with confidence intervals and p-values, one per column of the design."""

    coef: Floats
    standard_errors: Floats
    intervals: Floats
    pvalues: Floats
    rsquared: float
    rsquared_adj: float

    def columns(self) -> dict[str, Floats]:
        """Return the numbers of each coefficient, by their names in a report."""
        return {
            "coefficient": self.coef,
            "standard_error": self.standard_errors,
            "interval": self.intervals,
            "p_value": self.pvalues,
        }

    def table(self, terms: Sequence[str]) -> list[dict[str, Any]]:
        """Return the entry of each of the *terms* in a report."""
        columns = {"term": terms, **self.columns()}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@dataclass(frozen=True)
class Fit(Coefficients):
    """Coefficients fitted to samples."""

    inflation: Floats
    """Variance inflation factors: how much larger the variance of the coefficient is than if the
    column were orthogonal to the others; NaN for a constant."""
    regression: TermRegression

    def columns(self) -> dict[str, Floats]:
        """Return the numbers of each coefficient, by their names in a report."""
        return {**super().columns(), "vif": self.inflation}


@dataclass(frozen=True, eq=False)
class TermRegression:
    """A fit of statsmodels to columns of length 1, and what it was fitted to.

    Attributes
    ----------
    results
        The results, of WLS or RLM.
    scale
        Length of each column.
    design, response
        The fitted columns and durations, before scaling; for RLM, relative to the reference.
    """

    results: Any
    scale: Floats
    design: Floats
    response: Floats


def fit_design(
    configurations: Floats, durations_s: Floats, group: Indices, weights: Weights, constant: bool
) -> Fit:
    """Return the fit of all samples; *group* is the row in *configurations* of each.

    It is by least squares, of errors or of relative ones, or Huber's M-estimate (P. J. Huber,
    Robust Statistics, 1981) with the tuning constant 1.345, which retains 95 % of the efficiency
    for normal errors; R² is then that of the final weights. *constant* says whether the columns
    can express a constant: R² is then about the weighted mean, otherwise about 0.
    """
    design, y = configurations[group], durations_s
    weight = np.ones(len(design))
    if weights != "none":
        means = group_means(durations_s, group)
        reference = relative_reference(configurations, means, np.bincount(group))[group]
        weight = reference**-2
    # Columns of length 1 keep the normal equations well conditioned.
    with needed_for("fitting a linear model"):
        if weights == "huber":
            from statsmodels.robust.robust_linear_model import RLM

            relative, response = design / reference[:, None], y / reference
            scale = column_lengths(relative)
            results = RLM(response, relative / scale).fit()
            weight = results.weights / reference**2
            regression = TermRegression(results, scale, relative, response)
        else:
            from statsmodels.regression.linear_model import WLS

            scale = column_lengths(design * np.sqrt(weight)[:, None])
            results = WLS(y, design / scale, weights=weight).fit()
            regression = TermRegression(results, scale, design, y)
    coef = np.asarray(results.params) / scale
    center = np.average(y, weights=weight) if constant else 0.0
    residual = float((weight * (y - design @ coef) ** 2).sum())
    total = float((weight * (y - center) ** 2).sum())
    rsquared = 1 - residual / total if total > 0 else float("nan")
    freedom = (len(y) - constant) / (len(y) - design.shape[1])
    with np.errstate(all="ignore"):
        intervals = np.asarray(results.conf_int(alpha=1 - CONFIDENCE_LEVEL)) / scale[:, None]
        pvalues = np.asarray(results.pvalues)
        errors = np.asarray(results.bse) / scale
    adjusted = 1 - (1 - rsquared) * freedom
    inflation = variance_inflation(design, weight, constant=constant)
    return Fit(coef, errors, intervals, pvalues, rsquared, adjusted, inflation, regression)


def relative_reference(design: Floats, means: Floats, counts: Indices) -> Floats:
    """Return the fitted durations of configurations, to which errors are relative.

    They are a fixed point: the fit with weights of 1/reference² reproduces the reference. The
    iteration starts from the *means* of the *counts* samples of each configuration. It stays within
    a factor of 2 of them, so that weights cannot diverge if the terms do not fit.
    """
    reference = means
    for _ in range(MAX_ITERATIONS):
        weight = np.sqrt(counts) / reference
        relative = design * weight[:, None]
        scale = column_lengths(relative)
        coef = np.linalg.lstsq(relative / scale, means * weight, rcond=None)[0] / scale
        fitted = np.clip(design @ coef, means / 2, means * 2)
        settled = np.abs(fitted / reference - 1).max() < CONVERGED_CHANGE
        reference = fitted
        if settled:
            break
    return reference


def aliased(design: Floats) -> dict[int, list[int]]:
    """Return column -> earlier columns that it is a linear combination of.

    Columns are tested in order, by their distance to the space of the independent columns before,
    relative to their length.
    """
    unit = design / column_lengths(design)
    independent: list[int] = []
    combined: dict[int, list[int]] = {}
    for column in range(unit.shape[1]):
        basis, target = unit[:, independent], unit[:, column]
        share = np.linalg.lstsq(basis, target, rcond=None)[0]
        if np.linalg.norm(target - basis @ share) > ALIASED_SHARE:
            independent.append(column)
        else:
            large = np.abs(share) > ALIASED_SHARE
            combined[column] = [c for c, is_in in zip(independent, large, strict=True) if is_in]
    return combined


def variance_inflation(design: Floats, weights: Floats, *, constant: bool) -> Floats:
    """Return the variance inflation factor of each column, NaN for a constant one.

    It is the ratio of the variance of a coefficient to that without correlation with the others:
    1 / (1 - R²) of its weighted regression on them.

    D. A. Belsley, E. Kuh and R. E. Welsch, Regression Diagnostics, 1980, section 3.2.
    """
    mean = np.average(design, axis=0, weights=weights) if constant else np.zeros(design.shape[1])
    centered = (design - mean) * np.sqrt(weights)[:, None]
    length = np.linalg.norm(centered, axis=0)
    changing = length > ALIASED_SHARE * np.linalg.norm(design * np.sqrt(weights)[:, None], axis=0)
    result = np.full(design.shape[1], np.nan)
    unit = centered[:, changing] / length[changing]
    result[changing] = np.linalg.pinv(
        unit.T @ unit, rcond=ALIASED_SHARE**2, hermitian=True
    ).diagonal()
    return result


def column_lengths(design: Floats) -> Floats:
    """Return the length of each column, by which columns of any magnitude are scaled; 1 for 0."""
    length = np.linalg.norm(design, axis=0)
    return np.where(length == 0, 1.0, length)


def non_negative(design: Floats, values: Floats) -> Floats:
    """Return the least-squares coefficients under the constraint that none is negative.

    With nearly collinear columns the active-set method can cycle; the best solution of bounded
    least squares is then returned. The columns should be of about the same size.

    >>> non_negative(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([2.0, 1.0])).tolist()
    [1.5, 0.0]
    """
    from scipy.optimize import lsq_linear, nnls

    try:
        return np.asarray(nnls(design, values)[0])
    except RuntimeError:  # nnls has exceeded its iterations
        found = lsq_linear(design, values, bounds=(0.0, np.inf), method="bvls")
        return np.maximum(found.x, 0.0)


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """The triangular factor of a weighted design with the durations as its last column.

    The condition number of the products of columns would be the square of the factor's. Further
    rows are appended to the factor, and it is factored again: the result is that of all rows at
    once (G. H. Golub and C. F. Van Loan, Matrix Computations, section 6.5).

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
    def of(cls, regression: TermRegression) -> NormalEquations:
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
    def from_json(cls, node: JsonNode, terms: int) -> NormalEquations:
        """Read what :meth:`to_json` returned for a number of *terms*."""
        triangle = node["triangle"].matrix(terms + 1, terms + 1)
        count = node["count"].integer()
        if count <= terms:
            raise node["count"].expected(f"more than {terms}, the number of terms")
        return cls(triangle, count, node["weight"].positive(), node["weighted_s"].number())


LEAST_S: Final = 1e-11
"""Lower bound of the prediction of a formula, in seconds, as in StarPU (1e-5 us)."""

MAX_POINTS: Final = 256
"""Maximum number of points for the slope: of 2000 points with noise 0.2 and outliers, 256 give it
to 0.011 in 1.5 ms, 128 to 0.016, 512 to 0.008 in 6 ms: time grows with the square."""


def logarithms(sizes: Floats, least: float) -> Floats:
    """Return ln of *sizes*; a size of 0 counts as 1, or as *least* if that is smaller."""
    return np.asarray(np.log(np.maximum(sizes, min(1.0, least))))


def fit_power(x: Floats, y: Floats, weights: Floats) -> tuple[float, float]:
    """Return a and b of y = a·x^b by weighted least squares between logarithms.

    Both are NaN for fewer than two different x.

    >>> a, b = fit_power(np.array([1.0, 4.0]), np.array([3.0, 24.0]), np.ones(2))
    >>> round(a, 12), round(b, 12)
    (3.0, 1.5)
    """
    log_x, log_y = np.log(x), np.log(y)
    total = weights.sum()
    if not total > 0 or len(np.unique(x)) < 2:
        return np.nan, np.nan
    mean_x, mean_y = weights @ log_x / total, weights @ log_y / total
    b = float(weights @ ((log_x - mean_x) * log_y) / (weights @ (log_x - mean_x) ** 2))
    return float(np.exp(mean_y - b * mean_x)), b


def repeated_median(x: Floats, y: Floats) -> float:
    """Return the slope of *y* over *x*, robust to outliers among almost half of the points.

    It is the median over the points of the median of the slopes to the others (A. F. Siegel,
    "Robust regression using repeated medians", Biometrika 69(1), 1982). *x* must be strictly
    ascending. If there are more than 256 points, 256 of them at equal distances are used.

    >>> repeated_median(np.array([0.0, 1.0, 2.0, 3.0, 4.0]), np.array([0.0, 2.0, 4.0, 6.0, 99.0]))
    2.0
    """
    if len(x) > MAX_POINTS:
        chosen = np.linspace(0, len(x) - 1, MAX_POINTS).round().astype(np.intp)
        x, y = x[chosen], y[chosen]
    others = ~np.eye(len(x), dtype=bool)
    run, rise = (x[:, None] - x)[others], (y[:, None] - y)[others]
    slopes = (rise / run).reshape(len(x), len(x) - 1)
    return float(np.median(np.median(slopes, axis=1)))


def log_normal(mean: Floats, relative: Floats, rng: np.random.Generator) -> Floats:
    """Return a log-normal variate for each *mean*, with the *relative* standard deviation."""
    variance = np.log1p(relative**2)
    # Subtracting variance / 2 keeps the mean of the draws at *mean*.
    draws = np.sqrt(variance) * rng.standard_normal(len(mean)) - variance / 2
    return np.asarray(mean * np.exp(draws))
