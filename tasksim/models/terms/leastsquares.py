"""Weighted least squares with intervals; which columns of a design say the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from tasksim.models.groups import group_means

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "WEIGHTS",
    "Fit",
    "Weights",
    "aliased",
    "fit_design",
    "fit_huber",
    "fit_weighted",
    "relative_reference",
]

Weights = Literal["relative", "none", "huber"]

WEIGHTS: Final = ("relative", "none", "huber")

CONFIDENCE = 0.95
"""Of intervals of coefficients: what statisticians print."""
ALIASED = 1e-9
"""Columns (of length 1) nearer than this to the space of the others are combinations of them: a
thousand times the rounding errors of columns with a condition of 1e4."""

STEPS = 30
"""Of the iteration of weights, which settled in 9 to 12 on generated durations; where terms do not
fit, it may go round in a circle."""
SETTLED = 1e-10
"""Weights that change by less give the same coefficients to ten digits."""


@dataclass(frozen=True)
class Fit:
    """Coefficients with their intervals and p-values, one per column of the design."""

    coef: NDArray[np.float64]
    standard_errors: NDArray[np.float64]
    intervals: NDArray[np.float64]
    pvalues: NDArray[np.float64]
    rsquared: float
    rsquared_adj: float
    inflation: NDArray[np.float64]
    """Variance inflation factors, NaN for a constant: how much larger the variance of the
    coefficient is than if the column were orthogonal to the others."""


def fit_design(
    configurations: NDArray[np.float64],
    durations_s: NDArray[np.float64],
    group: NDArray[np.intp],
    weights: Weights,
    constant: bool,
) -> Fit:
    """Return the fit of all samples; *group* says which row of *configurations* each has."""
    design = configurations[group]
    if weights == "none":
        return fit_weighted(design, durations_s, np.ones(len(design)), constant=constant)
    means = group_means(durations_s, group)
    reference = relative_reference(configurations, means, np.bincount(group))[group]
    if weights == "huber":
        return fit_huber(design, durations_s, reference, constant=constant)
    return fit_weighted(design, durations_s, reference**-2, constant=constant)


def fit_weighted(
    design: NDArray[np.float64],
    y: NDArray[np.float64],
    weights: NDArray[np.float64],
    *,
    constant: bool,
) -> Fit:
    """Return the least squares fit of *y*, squared errors weighted by *weights*.

    *constant* says whether the columns of *design* can express a constant: R² is then about
    the weighted mean, otherwise about 0.
    """
    from statsmodels.regression.linear_model import WLS

    scale = _column_scale(design * np.sqrt(weights)[:, None])
    results = WLS(y, design / scale, weights=weights).fit()
    return _collected(results, scale, design, y, weights, constant)


def fit_huber(
    design: NDArray[np.float64],
    y: NDArray[np.float64],
    reference: NDArray[np.float64],
    *,
    constant: bool,
) -> Fit:
    """Return Huber's M-estimate for the errors of *y* relative to *reference*.

    P. J. Huber, Robust Statistics, 1981, with the tuning constant 1.345, at which 95 % of the
    efficiency is kept when errors are normal. R² is that of the final weights.
    """
    from statsmodels.robust.robust_linear_model import RLM

    relative = design / reference[:, None]
    scale = _column_scale(relative)
    results = RLM(y / reference, relative / scale).fit()
    weights = results.weights / reference**2
    return _collected(results, scale, design, y, weights, constant)


def relative_reference(
    design: NDArray[np.float64], means: NDArray[np.float64], counts: NDArray[np.intp]
) -> NDArray[np.float64]:
    """Return the durations that errors are relative to, per configuration: the fitted ones.

    Weights of 1/reference² make a fit whose fitted values are the reference again. It starts
    from the *means* of the *counts* samples of each configuration, and stays within a factor 2
    of them: where the terms cannot express what was measured, a weight must not run away.
    """
    reference = means
    for _ in range(STEPS):
        weight = np.sqrt(counts) / reference
        relative = design * weight[:, None]
        scale = _column_scale(relative)
        coef = np.linalg.lstsq(relative / scale, means * weight, rcond=None)[0] / scale
        fitted = np.clip(design @ coef, means / 2, means * 2)
        settled = np.abs(fitted / reference - 1).max() < SETTLED
        reference = fitted
        if settled:
            break
    return reference


def aliased(design: NDArray[np.float64]) -> dict[int, list[int]]:
    """Return column -> earlier columns of which it is a linear combination.

    Columns are judged one after the other, by the distance to the space of those before that
    were found independent, relative to their length.
    """
    unit = design / _column_scale(design)
    independent: list[int] = []
    combined: dict[int, list[int]] = {}
    for column in range(unit.shape[1]):
        basis, target = unit[:, independent], unit[:, column]
        share = np.linalg.lstsq(basis, target, rcond=None)[0]
        if np.linalg.norm(target - basis @ share) > ALIASED:
            independent.append(column)
        else:
            large = np.abs(share) > ALIASED
            combined[column] = [c for c, is_in in zip(independent, large, strict=True) if is_in]
    return combined


def _collected(
    results: Any,
    scale: NDArray[np.float64],
    design: NDArray[np.float64],
    y: NDArray[np.float64],
    weights: NDArray[np.float64],
    constant: bool,
) -> Fit:
    coef = np.asarray(results.params) / scale
    center = np.average(y, weights=weights) if constant else 0.0
    residual = float((weights * (y - design @ coef) ** 2).sum())
    total = float((weights * (y - center) ** 2).sum())
    rsquared = 1 - residual / total if total > 0 else float("nan")
    freedom = (len(y) - constant) / (len(y) - design.shape[1])
    with np.errstate(all="ignore"):
        intervals = np.asarray(results.conf_int(alpha=1 - CONFIDENCE)) / scale[:, None]
        pvalues = np.asarray(results.pvalues)
        errors = np.asarray(results.bse) / scale
    adjusted = 1 - (1 - rsquared) * freedom
    return Fit(
        coef, errors, intervals, pvalues, rsquared, adjusted, _inflation(design, weights, constant)
    )


def _inflation(
    design: NDArray[np.float64], weights: NDArray[np.float64], constant: bool
) -> NDArray[np.float64]:
    """Return the variance inflation factor of each column, NaN where it is constant.

    D. A. Belsley, E. Kuh and R. E. Welsch, Regression Diagnostics, 1980, section 3.2.
    """
    mean = np.average(design, axis=0, weights=weights) if constant else np.zeros(design.shape[1])
    centered = (design - mean) * np.sqrt(weights)[:, None]
    length = np.linalg.norm(centered, axis=0)
    changing = length > ALIASED * np.linalg.norm(design * np.sqrt(weights)[:, None], axis=0)
    result = np.full(design.shape[1], np.nan)
    unit = centered[:, changing] / length[changing]
    result[changing] = np.linalg.pinv(unit.T @ unit, rcond=ALIASED**2, hermitian=True).diagonal()
    return result


def _column_scale(design: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the length of each column; terms span many orders of magnitude."""
    length = np.linalg.norm(design, axis=0)
    return np.where(length == 0, 1.0, length)
