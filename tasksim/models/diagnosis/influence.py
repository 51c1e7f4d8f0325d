"""Influence of samples on a linear form: leverage, Cook's distance, inflation, precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.models.diagnosis.residuals import Residuals
    from tasksim.models.forms import LinearForm

__all__ = ["Influence", "inflation", "influence", "stars"]


@dataclass(frozen=True, eq=False)
class Influence:
    """The influence of each sample, and of each configuration, on the coefficients.

    All numbers are of the weighted fit of the model. Per sample: ``leverage`` (the diagonal of
    the hat matrix), ``studentized`` (externally studentised residual) and ``cook`` (Cook's
    distance; R. D. Cook, Technometrics 19, 1977). Per configuration, the same for leaving out
    all of its samples (``rows`` of the residuals): ``group_leverage``, ``group_studentized``,
    ``group_cook``, and ``group_shift``, the largest relative change of any prediction.

    ``vif`` is per term (1 for the constant, where it is undefined), ``precision`` per
    configuration: half the 95 % confidence interval of its mean, relative.
    """

    leverage: NDArray[np.float64]
    studentized: NDArray[np.float64]
    cook: NDArray[np.float64]
    group_leverage: NDArray[np.float64]
    group_studentized: NDArray[np.float64]
    group_cook: NDArray[np.float64]
    group_shift: NDArray[np.float64]
    vif: NDArray[np.float64]
    precision: NDArray[np.float64]
    freedom: int


def influence(form: LinearForm, res: Residuals) -> Influence:
    """Return the influences of the samples of *res* on *form*."""
    from scipy.stats import t

    weight = np.ones(len(res.samples)) if res.absolute else res.predicted_s**-2
    rows = res.rows[:, [res.samples.names.index(name) for name in form.names]]
    design = form.terms.design(rows)
    whole = design[res.group] * np.sqrt(weight)[:, None]
    basis, _ = np.linalg.qr(whole / _length(whole))
    error = (res.samples.durations_s - res.predicted_s) * np.sqrt(weight)
    count, terms = basis.shape
    freedom = count - terms
    variance = float((error**2).sum()) / freedom
    leverage = np.minimum((basis**2).sum(axis=1), 1 - 1e-12)
    inner = error / np.sqrt(np.maximum(variance * (1 - leverage), 1e-300))
    cook = inner**2 * leverage / (terms * (1 - leverage))
    first = np.unique(res.group, return_index=True)[1]
    group = _by_group(basis[first], error, res.group, variance)
    scale = res.scale_s[first] * np.sqrt(weight[first])
    by_row = np.bincount(res.group, weight).astype(np.float64)
    precision = np.sqrt(variance * leverage[first]) * t.ppf(0.975, freedom) / scale
    return Influence(
        leverage,
        _external(inner, freedom),
        cook,
        group[0],
        _external(group[1], freedom),
        group[2],
        _shifts(basis[first], group[3], group[2], scale),
        inflation(design, by_row, constant=form.terms.constant),
        precision,
        freedom,
    )


def inflation(
    design: NDArray[np.float64], weights: NDArray[np.float64], *, constant: bool
) -> NDArray[np.float64]:
    """Return the variance inflation factor of each column; 1 for the constant.

    It is the ratio of the variance of a coefficient to that without correlation with the others:
    1 / (1 - R²) of its weighted regression on them (D. W. Marquardt, Technometrics 12, 1970).
    """
    center = (weights @ design) / weights.sum() if constant else np.zeros(design.shape[1])
    rest = (design - center) * np.sqrt(weights)[:, None]
    varies = (rest**2).sum(axis=0) > 1e-18 * (weights @ design**2)
    factors = np.ones(design.shape[1])
    if varies.any():
        chosen = rest[:, varies] / _length(rest[:, varies])
        factors[varies] = np.maximum(np.diag(np.linalg.pinv(chosen.T @ chosen)), 1.0)
    return factors


def stars(pvalue: float) -> str:
    """Return the stars of a p-value: ``* p<0.1, ** p<0.05, *** p<0.01``.

    >>> [stars(p) for p in (0.2, 0.07, 0.02, 0.001)]
    ['', '*', '**', '***']
    """
    return "*" * sum(pvalue < limit for limit in (0.1, 0.05, 0.01))


def _by_group(
    basis: NDArray[np.float64],
    error: NDArray[np.float64],
    group: NDArray[np.intp],
    variance: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return leverage, studentised mean error, Cook's distance, change of coefficients.

    All samples of a configuration have the same row of the *basis*, so leaving them out is a
    rank-one downdate.
    """
    count = np.bincount(group)
    total = np.bincount(group, error)
    single = (basis**2).sum(axis=1)
    leverage = np.minimum(count * single, 1 - 1e-12)
    mean = total / np.sqrt(np.maximum(variance * count * (1 - leverage), 1e-300))
    change = basis * (total / (1 - leverage))[:, None]
    cook = (change**2).sum(axis=1) / (basis.shape[1] * max(variance, 1e-300))
    return leverage, mean, cook, change


def _shifts(
    basis: NDArray[np.float64],
    change: NDArray[np.float64],
    cook: NDArray[np.float64],
    scale: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the change of predictions without each of the most influential configurations."""
    shift = np.full(len(basis), np.nan)
    for index in np.argsort(-cook)[:10].tolist():
        shift[index] = float(np.abs(basis @ change[index] / scale).max())
    return shift


def _external(inner: NDArray[np.float64], freedom: int) -> NDArray[np.float64]:
    """Return externally studentised residuals from internally studentised ones."""
    left = np.maximum(freedom - inner**2, 1e-12)
    result: NDArray[np.float64] = inner * np.sqrt(max(freedom - 1, 1) / left)
    return result


def _length(table: NDArray[np.float64]) -> NDArray[np.float64]:
    length = np.linalg.norm(table, axis=0)
    return np.where(length == 0, 1.0, length)
