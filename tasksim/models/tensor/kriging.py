"""Kriging: what is probably between few measurements, by a Gaussian process.

Least squares alone cannot complete a fine grid from few cells: each row of a factor has a handful
of observations. A Gaussian process knows one thing more, that durations at like parameters are
alike, and learns how fast they change with each parameter. Its mean, at the points of a grid, is
then a table without gaps, of which a tensor of low rank is as good as a copy, a thousand times
smaller and faster.

The covariance of two rows is that of Matérn with ν = 3/2, of functions with a slope but no
curvature, which durations with steps of block sizes and caches are:

    σ² (1 + r) exp(-r),    r² = 3 Σ_j (x_j - x'_j)² / ℓ_j²

with x_j on the axis' scale, from 0 to 1 over its range; categories are at distance 1 of each
other. Scales ℓ_j, σ² and the variance of the noise are those of the largest posterior probability
(C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine Learning, 2006, sections
4.2.1, 5.4.1 and 5.4.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tasksim.models.tensor.grid import Axis

    Table = NDArray[np.float64]

__all__ = ["MOST", "Kriging", "Scales", "krige", "learn_scales"]

MOST: Final = 4096
"""Rows beyond which the covariances, 128 MB, and the time, n^3/3 operations, are too much."""
LEARNING: Final = 512
"""Rows that scales are learnt from: some 30 evaluations of n^3 operations, a second on a busy
core. With fewer it is faster, and scales are less certain."""
STEPS: Final = 60
"""Of the search for the scales: generated durations took 34 evaluations on average."""
FIRST: Final = 0.5
"""Of each range: where the search for its scale begins, in the middle of what scales can be."""
SPREAD: Final = 1.5
"""The prior deviation of the logarithms of scales and variances: a factor 4.5, hardly anything."""
NOISE: Final = 0.1
"""The share of noise in the variance before anything is known, in the middle of 1 % and all, and
..."""
LEAST: Final = 1e-6
"""... the least there can be: covariances must be invertible in double precision."""
BLOCK: Final = 4_000_000
"""So many covariances are held at once: 32 MB."""
CACHED: Final = 32_768
"""So many are computed at once: 256 kB, which stay in the cache between the operations."""


@dataclass(frozen=True)
class Scales:
    """How fast values change.

    Attributes
    ----------
    lengths
        float64 [modes], of the ranges.
    signal, noise
        Variances: of the function, and of measurements about it.
    """

    lengths: Table
    signal: float
    noise: float


@dataclass(frozen=True, eq=False)
class Kriging:
    """A Gaussian process that has seen some rows."""

    axes: Sequence[Axis]
    scales: Scales
    rows: Table
    weights: Table

    def values(self, table: Table) -> Table:
        """Return the mean of the process at each row of parameters."""
        there = _features(self.axes, table)
        step = max(1, BLOCK // max(1, len(self.rows)))
        parts = [
            _covariances(there[at : at + step], self.rows, self.scales) @ self.weights
            for at in range(0, len(there), step)
        ]
        return np.concatenate([np.empty(0), *parts])


def krige(axes: Sequence[Axis], table: Table, values: Table, scales: Scales) -> Kriging:
    """Return the process that has seen *values*, of mean 0, at the rows of *table*."""
    from scipy.linalg import cho_solve

    rows = _features(axes, table)
    return Kriging(axes, scales, rows, cho_solve(_factorised(rows, scales), values))


def learn_scales(axes: Sequence[Axis], table: Table, values: Table, seed: int = 0) -> Scales:
    """Return the scales that explain *values* best, for what is known beforehand.

    That is little: a scale is about half the range, the noise about a tenth of the variance. From
    512 rows at most, drawn at random.
    """
    from scipy.optimize import minimize

    some = np.random.default_rng(seed).permutation(len(values))[:LEARNING]
    rows, values = _features(axes, table[some]), values[some]
    variance = max(float(np.mean(values**2)), np.finfo(np.float64).tiny)
    first = np.log([*[FIRST] * rows.shape[1], 1.0, NOISE])
    found = minimize(
        _improbability,
        first,
        args=(rows, values / np.sqrt(variance), first),
        jac=True,
        method="L-BFGS-B",
        bounds=[(centre - 4 * SPREAD, centre + 4 * SPREAD) for centre in first],
        options={"maxiter": STEPS},
    )
    *lengths, signal, noise = np.exp(found.x).tolist()
    return Scales(np.array(lengths), signal * variance, max(noise, LEAST) * variance)


def _improbability(logs: Table, rows: Table, values: Table, first: Table) -> tuple[float, Table]:
    """Return minus the logarithm of the posterior probability of scales, and its gradient.

    *logs* are the logarithms of lengths, signal and noise. Equations 5.8 and 5.9 of Rasmussen and
    Williams, with a normal prior about *first*.
    """
    from scipy.linalg import cho_solve, lapack

    *lengths, signal, noise = np.exp(logs).tolist()
    scales = Scales(np.array(lengths), signal, max(noise, LEAST))
    distances, decay = _distances(rows, rows, scales.lengths)
    covariances = signal * (1 + distances) * decay
    lower = _cholesky(covariances, scales.noise)
    weights = cho_solve((lower, True), values)
    inverse, _ = lapack.dpotri(lower, lower=1)
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    # Half the gradient's trace is a sum over elements: both matrices are symmetric.
    outer = inverse - np.outer(weights, weights)
    weighted = outer * (signal * decay)
    gradient = [
        1.5 * _quadratic(weighted, rows[:, mode] / length) for mode, length in enumerate(lengths)
    ]
    gradient += [0.5 * float((outer * covariances).sum()), 0.5 * scales.noise * np.trace(outer)]
    value = 0.5 * float(values @ weights) + float(np.log(np.diag(lower)).sum())
    off = (logs - first) / SPREAD
    return value + 0.5 * float(off @ off), np.array(gradient) + off / SPREAD


def _quadratic(weighted: Table, column: Table) -> float:
    """Return the sum over i, k of weighted[i, k] (column[i] - column[k])², weighted symmetric."""
    return float(2 * (weighted.sum(axis=1) @ column**2 - column @ (weighted @ column)))


def _factorised(rows: Table, scales: Scales) -> tuple[Table, bool]:
    return _cholesky(_covariances(rows, rows, scales), scales.noise), True


def _cholesky(covariances: Table, noise: float) -> Table:
    from scipy.linalg import cholesky

    noisy = covariances.copy()
    noisy[np.diag_indices(len(noisy))] += noise
    lower: Table = cholesky(noisy, lower=True, overwrite_a=True, check_finite=False)
    return lower


def _covariances(a: Table, b: Table, scales: Scales) -> Table:
    result = np.empty((len(a), len(b)))
    step = max(1, CACHED // max(1, len(b)))
    for at in range(0, len(a), step):
        distances, decay = _distances(a[at : at + step], b, scales.lengths)
        distances += 1
        distances *= decay
        np.multiply(distances, scales.signal, out=result[at : at + step])
    return result


def _distances(a: Table, b: Table, lengths: Table) -> tuple[Table, Table]:
    """Return r between the rows of *a* and *b*, and exp(-r)."""
    squares = np.zeros((len(a), len(b)))
    for mode, length in enumerate(lengths.tolist()):
        difference = np.subtract.outer(a[:, mode] / length, b[:, mode] / length)
        squares += np.square(difference, out=difference)
    distances = np.sqrt(3 * squares)
    return distances, np.exp(-distances)


def _features(axes: Sequence[Axis], table: Table) -> Table:
    """Return each mode on its axis' scale, from 0 to 1 over the range; a column per category."""
    columns = []
    for mode, axis in enumerate(axes):
        if axis.kind == "categorical":
            # Different categories are at distance 1: 1/2 + 1/2 of their columns, squared.
            columns.append(np.sqrt(0.5) * np.eye(len(axis))[axis.cell(table[:, mode])])
            continue
        low, high = axis.scale(axis.edges[[0, -1]])
        width = high - low if high > low else 1.0
        columns.append(((axis.scale(table[:, mode]) - low) / width)[:, None])
    return np.hstack([np.empty((len(table), 0)), *columns])
