"""Scales of a Gaussian process with the largest posterior probability.

Lengths, and the variances of the function and of the noise, are found by gradient (C. E. Rasmussen
and C. K. I. Williams, Gaussian Processes for Machine Learning, 2006, sections 4.2.1, 5.4.1 and
5.4.2). The covariance of two rows is any function of their distance in lengths.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.base.arrays import Floats, Indices

__all__ = ["MIN_NOISE_SHARE", "Correlate", "improbability", "probable_scales"]

MAX_ITERATIONS: Final = 60
"""Maximum number of iterations of the search: generated durations took 34 evaluations on
average."""
PRIOR_DEVIATION: Final = 1.5
"""Prior standard deviation of log lengths and log variances: a factor of 4.5, a weak prior."""
MIN_NOISE_SHARE: Final = 1e-6
"""Smallest share of noise in the variance: covariances must be invertible in double precision."""

Correlate: TypeAlias = "Callable[[Floats], tuple[Floats, Floats]]"
"""Function of rows in lengths to their correlations and slopes: the derivative of a correlation by
the logarithm of a column's length is the slope times the squared difference in the column."""


def probable_scales(
    correlate: Correlate,
    table: Floats,
    values: Floats,
    parameters: Indices,
    length: float,
    noise_share: float,
) -> tuple[Floats, float, float]:
    """Return the lengths of the columns, and the variances of function and noise.

    Parameters
    ----------
    correlate : Correlate
        The correlations of rows, and their slopes.
    table : ndarray, shape (n, columns)
        Rows.
    values : ndarray, shape (n,)
        The value at each row; their mean should be 0.
    parameters : ndarray of int, shape (columns,)
        The parameter that each column belongs to; the columns of one share a length.
    length, noise_share : float
        The beginning of the search and the middle of the prior: the length of each column, and the
        share of noise in the variance.
    """
    from scipy.optimize import minimize

    variance = max(float(np.mean(values**2)), np.finfo(np.float64).tiny)
    first = np.log([*[length] * (int(parameters.max(initial=-1)) + 1), 1.0, noise_share])
    found = minimize(
        improbability,
        first,
        args=(correlate, table, values / np.sqrt(variance), parameters, first),
        jac=True,
        method="L-BFGS-B",
        bounds=[(centre - 4 * PRIOR_DEVIATION, centre + 4 * PRIOR_DEVIATION) for centre in first],
        options={"maxiter": MAX_ITERATIONS},
    )
    *lengths, signal, noise = np.exp(found.x).tolist()
    noise = max(noise, MIN_NOISE_SHARE)
    return np.array(lengths)[parameters], signal * variance, noise * variance


def improbability(
    logs: Floats,
    correlate: Correlate,
    table: Floats,
    values: Floats,
    parameters: Indices,
    first: Floats,
) -> tuple[float, Floats]:
    """Return minus the log posterior probability of scales, and its gradient.

    *logs* are the logarithms of lengths, signal and noise. Equations 5.8 and 5.9 of Rasmussen and
    Williams, with a normal prior about *first*.
    """
    from scipy.linalg import cho_solve, cholesky, lapack

    *lengths, signal, noise = np.exp(logs).tolist()
    noise = max(noise, MIN_NOISE_SHARE)
    rows = table / np.array(lengths)[parameters]
    correlations, slopes = correlate(rows)
    matrix = signal * correlations
    matrix[np.diag_indices(len(matrix))] += noise
    lower = cholesky(matrix, lower=True, overwrite_a=True, check_finite=False)
    weights = cho_solve((lower, True), values)
    inverse, _ = lapack.dpotri(lower, lower=1)
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    # Half the gradient's trace is a sum over elements, as both matrices are symmetric.
    outer = inverse - np.outer(weights, weights)
    weighted = outer * (0.5 * signal * slopes)
    total = weighted.sum(axis=1)
    # Per column, the sum over i, k of weighted[i, k] (column[i] - column[k])².
    parts = [float(2 * (total @ column**2 - column @ (weighted @ column))) for column in rows.T]
    gradient = [
        *np.bincount(parameters, parts, len(lengths)),
        0.5 * signal * float((outer * correlations).sum()),
        0.5 * noise * float(np.trace(outer)),
    ]
    value = 0.5 * float(values @ weights) + float(np.log(np.diag(lower)).sum())
    off = (logs - first) / PRIOR_DEVIATION
    return value + 0.5 * float(off @ off), np.array(gradient) + off / PRIOR_DEVIATION
