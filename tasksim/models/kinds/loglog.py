"""Power laws, y = a·x^b, as straight lines between logarithms: functions shared by models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LEAST_S", "fit_power", "log_normal", "logarithms", "repeated_median"]

LEAST_S: Final = 1e-11
"""Lower bound of the prediction of a formula, in seconds; StarPU's, too (1e-5 us)."""

MAX_POINTS: Final = 256
"""Maximum number of points for the slope: of 2000 points with noise 0.2 and outliers, 256 give it
to 0.011 in 1.5 ms, 128 to 0.016, 512 to 0.008 in 6 ms: time grows with the square."""


def logarithms(sizes: NDArray[np.float64], least: float) -> NDArray[np.float64]:
    """Return ln of *sizes*; a size of 0 counts as 1, or as *least* if that is smaller."""
    logs: NDArray[np.float64] = np.log(np.maximum(sizes, min(1.0, least)))
    return logs


def fit_power(
    x: NDArray[np.float64], y: NDArray[np.float64], weights: NDArray[np.float64]
) -> tuple[float, float]:
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


def repeated_median(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Return the slope of *y* over *x*, robust to outliers among almost half of the points.

    It is the median over the points of the median of the slopes to the others (A. F. Siegel,
    "Robust regression using repeated medians", Biometrika 69(1), 1982). *x* must be strictly
    ascending; 256 of more points are used.

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


def log_normal(
    mean: NDArray[np.float64], relative: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return a log-normal variate for each *mean*, with the *relative* standard deviation."""
    variance = np.log1p(relative**2)
    # Subtracting variance / 2 keeps the mean of the draws at *mean*.
    draws = np.sqrt(variance) * rng.standard_normal(len(mean)) - variance / 2
    result: NDArray[np.float64] = mean * np.exp(draws)
    return result
