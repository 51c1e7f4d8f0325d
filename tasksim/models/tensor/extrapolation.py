"""Extrapolation of the logarithm of a duration along one mode of a tensor.

The fitted tensor is undefined beyond the ends of an axis; its factors, over the logarithm of the
parameter, are continued from their last points, by a straight line or by a piecewise linear
spline with adaptive knots. For positive factors, the best rank-one approximation of
the factor is continued: a positive matrix has a positive one (Perron and Frobenius), whose
logarithm exists (E. Hutter and E. Solomonik, SC 2023, section 4.3; there by MARS).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["METHODS", "end_slopes", "rank_one", "slopes"]

METHODS: Final = ("line", "spline", "hold")
MAX_KNOTS: Final = 2
"""Maximum number of knots of a spline: an overhead at one end, a cache at the other."""

KNOT_PENALTY: Final = 3.0
"""Cost of a knot in generalised cross-validation, in parameters (Friedman, Ann. Stat. 1991)."""


def rank_one(factor: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the column of the best rank-one approximation of a positive *factor*.

    float64 [rows], positive, of length 1.
    """
    left, _, _ = np.linalg.svd(factor, full_matrices=False)
    column: NDArray[np.float64] = np.abs(left[:, 0])
    return np.maximum(column, np.finfo(np.float64).tiny)


def end_slopes(
    x: NDArray[np.float64], y: NDArray[np.float64], method: str, last: int
) -> NDArray[np.float64]:
    """Return the slopes of *y* over *x* at the lower and the upper end, float64 [2, columns].

    Parameters
    ----------
    x
        float64 [points], ascending.
    y
        float64 [points, columns].
    method
        ``"line"``: the slope of the least-squares line through the *last* points of the end.
        ``"spline"``: the slope of the end piece of a piecewise linear function with up to
        two knots, chosen by generalised cross-validation. ``"hold"``: 0.
    """
    if len(x) < 2 or method == "hold":
        return np.zeros((2, y.shape[1]))
    if method == "spline":
        return np.stack([_spline(x, column) for column in y.T], axis=1)
    return np.stack([slopes(x[:last], y[:last]), slopes(x[-last:], y[-last:])])


def slopes(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the slope of the least-squares line of each column of *y* over *x*.

    >>> slopes(np.array([0.0, 1.0, 2.0]), np.array([[1.0], [3.0], [5.0]])).tolist()
    [2.0]
    """
    centred = x - x.mean()
    return np.asarray((centred[:, None] * (y - y.mean(axis=0))).sum(axis=0) / (centred**2).sum())


def _spline(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the slopes of the first and the last piece."""
    knots: list[float] = []
    best, coef = _scored(x, y, knots)
    for _ in range(MAX_KNOTS):
        tried = [(*_scored(x, y, [*knots, knot]), knot) for knot in x[2:-2].tolist()]
        score, found, knot = min(tried, key=lambda one: one[0], default=(np.inf, coef, 0.0))
        if not score < best:
            break
        best, coef = score, found
        knots.append(knot)
    return np.array([coef[1], coef[1:].sum()])


def _scored(
    x: NDArray[np.float64], y: NDArray[np.float64], knots: list[float]
) -> tuple[float, NDArray[np.float64]]:
    """Return the generalised cross-validation score with these *knots*, and the coefficients."""
    design = np.column_stack([np.ones(len(x)), x, *(np.maximum(x - knot, 0) for knot in knots)])
    coef = np.linalg.lstsq(design, y, rcond=None)[0]
    left = 1 - (2 + (1 + KNOT_PENALTY) * len(knots)) / len(x)
    if left <= 0:
        return (np.inf if knots else np.finfo(np.float64).max), coef
    return float(((y - design @ coef) ** 2).mean() / left**2), coef
