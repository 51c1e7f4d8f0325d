"""Metrics of the errors of predictions.

With q = predicted / measured and e = q - 1, over n configurations or samples:

====== ============================= =====================================================
mlogq  mean of abs(ln q)             the default: symmetric in a factor 2 too long or short
mlogq2 mean of (ln q)²               the same, large errors weigh more
bias   mean of ln q                  signed: positive is too long
mape   mean of abs(e)                favours predictions that are too short (at most 1 for those)
smape  mean of 2 abs(e / (2 + e))    at most 2
lgmape mean of ln abs(e)             its exponential is the geometric mean of relative errors
mae    mean of abs(difference)       in seconds: long tasks dominate
mse    mean of (difference)²         in seconds squared
====== ============================= =====================================================

``exp(mlogq) - 1`` is the typical relative error. See Tofallis, "A better measure of relative
prediction accuracy for model selection and model estimation", J. Oper. Res. Soc. 66 (2015).
All but the bias are those of E. Hutter and E. Solomonik, "Application performance modeling via
tensor completion", SC '23, table 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.base.errors import InputError
from tasksim.models.quantiles import group_means
from tasksim.models.rows import row_values

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from tasksim.base.arrays import Floats, Indices
    from tasksim.models.samples import Samples

__all__ = [
    "METRICS",
    "all_metrics",
    "bias",
    "fit_errors",
    "lgmape",
    "log_errors",
    "log_ratio",
    "mae",
    "mape",
    "mlogq",
    "mlogq2",
    "mse",
    "smape",
]

EXACT_HIT: Final = 2.0**-52
"""Relative error that stands for an exact prediction in a logarithm: the distance from 1 to the
next float, the smallest visible error."""


def log_ratio(predicted: ArrayLike, measured: ArrayLike) -> Floats:
    """Return ln(predicted / measured) of each pair.

    Raises
    ------
    InputError
        If the shapes differ, there are no values, or one is not finite and positive.
    """
    p, m = _pairs(predicted, measured)
    ratio: Floats = np.log(p / m)
    return ratio


def log_errors(predicted: Floats, measured: Floats, unknown: float) -> Floats:
    """Return abs(ln(predicted / measured)) of each pair, *unknown* where nothing is predicted."""
    known = np.isfinite(predicted) & (predicted > 0)
    errors = np.full(len(predicted), unknown)
    if known.any():
        errors[known] = np.abs(log_ratio(predicted[known], measured[known]))
    return errors


def mlogq(predicted: ArrayLike, measured: ArrayLike) -> float:
    """Return the mean of abs(ln(predicted / measured)).

    >>> round(mlogq([2.0, 1.0], [1.0, 2.0]), 6) == round(float(np.log(2)), 6)
    True
    """
    return float(np.abs(log_ratio(predicted, measured)).mean())


def mlogq2(predicted: ArrayLike, measured: ArrayLike) -> float:
    """Return the mean of the square of ln(predicted / measured)."""
    return float((log_ratio(predicted, measured) ** 2).mean())


def bias(predicted: ArrayLike, measured: ArrayLike) -> float:
    """Return the mean of ln(predicted / measured): positive if predictions are too long.

    >>> bias([2.0, 1.0], [1.0, 2.0])
    0.0
    """
    return float(log_ratio(predicted, measured).mean())


def mape(predicted: ArrayLike, measured: ArrayLike) -> float:
    """Return the mean absolute relative error, abs(predicted - measured) / measured.

    It is a share, not a percentage.

    >>> mape([2.0, 1.0], [1.0, 2.0])
    0.75
    """
    return float(_relative(predicted, measured).mean())


def smape(predicted: ArrayLike, measured: ArrayLike) -> float:
    """Return the mean of 2·abs(predicted - measured) / (predicted + measured), at most 2.

    >>> smape([3.0, 1.0], [1.0, 3.0])
    1.0
    """
    p, m = _pairs(predicted, measured)
    return float((2 * np.abs(p - m) / (p + m)).mean())


def lgmape(predicted: ArrayLike, measured: ArrayLike) -> float:
    """Return the mean of ln(abs(predicted - measured) / measured).

    An exact prediction, whose error has no logarithm, counts as an error of 2^-52.

    >>> round(float(np.exp(lgmape([1.1, 1.4], [1.0, 1.0]))), 12)
    0.2
    """
    return float(np.log(np.maximum(_relative(predicted, measured), EXACT_HIT)).mean())


def mae(predicted: ArrayLike, measured: ArrayLike) -> float:
    """Return the mean absolute error, in seconds."""
    p, m = _pairs(predicted, measured)
    return float(np.abs(p - m).mean())


def mse(predicted: ArrayLike, measured: ArrayLike) -> float:
    """Return the mean squared error, in seconds squared."""
    p, m = _pairs(predicted, measured)
    return float(((p - m) ** 2).mean())


METRICS: Final[dict[str, Callable[[ArrayLike, ArrayLike], float]]] = {
    "mape": mape,
    "mae": mae,
    "mse": mse,
    "smape": smape,
    "lgmape": lgmape,
    "mlogq": mlogq,
    "mlogq2": mlogq2,
    "bias": bias,
}
"""All metrics, by name."""


def all_metrics(predicted: ArrayLike, measured: ArrayLike) -> dict[str, float]:
    """Return every metric of :data:`METRICS`, by name.

    >>> all_metrics([2.0, 1.0], [1.0, 1.0])["mape"]
    0.5
    """
    return {name: metric(predicted, measured) for name, metric in METRICS.items()}


def fit_errors(
    samples: Samples, rows: Floats, inverse: Indices, predicted_s: Floats
) -> dict[str, Any]:
    """Return the errors of *predicted_s*, one per distinct row of the samples.

    Each configuration counts once, with the mean of its samples: ten thousand measurements
    of one size add no information about others.
    """
    measured_s = group_means(samples.durations_s, inverse)
    worst = int(np.argmax(np.abs(log_ratio(predicted_s, measured_s))))
    return {
        "configurations": len(rows),
        "mlogq": mlogq(predicted_s, measured_s),
        "bias": bias(predicted_s, measured_s),
        "mape": mape(predicted_s, measured_s),
        "worst": {
            "parameters": row_values(samples.names, rows[worst], samples.categories),
            "measured_s": float(measured_s[worst]),
            "predicted_s": float(predicted_s[worst]),
            "error": float(predicted_s[worst] / measured_s[worst] - 1),
        },
    }


def _relative(predicted: ArrayLike, measured: ArrayLike) -> Floats:
    p, m = _pairs(predicted, measured)
    relative: Floats = np.abs(p - m) / m
    return relative


def _pairs(predicted: ArrayLike, measured: ArrayLike) -> tuple[Floats, Floats]:
    p, m = _positive(predicted, "predicted"), _positive(measured, "measured")
    if p.shape != m.shape or p.size == 0:
        raise InputError(
            "errors need as many predicted as measured durations, and at least one; "
            f"got shapes {p.shape} and {m.shape}"
        )
    return p, m


def _positive(values: ArrayLike, what: str) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if not (np.isfinite(array) & (array > 0)).all():
        raise InputError(f"errors are relative: {what} durations must be finite and positive")
    return array
