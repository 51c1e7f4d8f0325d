"""How far predictions are from measurements.

With q = predicted / measured, over n configurations or samples:

====== ======================== ==========================================================
mlogq  mean of abs(ln q)        the default: a factor 2 too long counts as one too short
mlogq2 mean of (ln q)²          the same, large errors weigh more
bias   mean of ln q             signed: positive is too long
mape   mean of abs(q - 1)       favours predictions that are too short (at most 1 for those)
====== ======================== ==========================================================

``exp(mlogq) - 1`` is the typical relative error. See Tofallis, "A better measure of relative
prediction accuracy for model selection and model estimation", J. Oper. Res. Soc. 66 (2015).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["bias", "log_ratio", "mape", "mlogq", "mlogq2"]


def log_ratio(predicted: ArrayLike, measured: ArrayLike) -> NDArray[np.float64]:
    """Return ln(predicted / measured) of each pair.

    Raises
    ------
    InputError
        If the shapes differ, there are no values, or one is not finite and positive.
    """
    p, m = _positive(predicted, "predicted"), _positive(measured, "measured")
    if p.shape != m.shape or p.size == 0:
        raise InputError(
            "errors need as many predicted as measured durations, and at least one; "
            f"got shapes {p.shape} and {m.shape}"
        )
    ratio: NDArray[np.float64] = np.log(p / m)
    return ratio


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
    """Return the mean of ln(predicted / measured): positive where predictions are too long.

    >>> bias([2.0, 1.0], [1.0, 2.0])
    0.0
    """
    return float(log_ratio(predicted, measured).mean())


def mape(predicted: ArrayLike, measured: ArrayLike) -> float:
    """Return the mean absolute relative error, abs(predicted - measured) / measured.

    A share, not a percentage.

    >>> mape([2.0, 1.0], [1.0, 2.0])
    0.75
    """
    log_ratio(predicted, measured)  # refuses what cannot be compared
    p, m = np.asarray(predicted, dtype=np.float64), np.asarray(measured, dtype=np.float64)
    return float((np.abs(p - m) / m).mean())


def _positive(values: ArrayLike, what: str) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if not (np.isfinite(array) & (array > 0)).all():
        raise InputError(f"errors are relative: {what} durations must be finite and positive")
    return array
