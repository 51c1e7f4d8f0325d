"""Kriging, the interpolation between few measurements by a Gaussian process.

Least squares alone cannot complete a fine grid from few cells: each row of a factor has a handful
of observations. A Gaussian process assumes in addition that similar parameters have similar
durations, and learns how fast they change with each parameter. Its mean at the points of a grid is
a table without gaps. A tensor of low rank is a nearly exact copy of it, a thousand times
smaller and faster.

The covariance of two rows is Matérn's with ν = 3/2, for functions with a slope but no
curvature, such as durations with steps of block sizes and caches:

    σ² (1 + r) exp(-r),    r² = 3 Σ_j (x_j - x'_j)² / ℓ_j²

with x_j on the axis' scale, from 0 to 1 over its range; categories have a distance of 1.
Scales ℓ_j, σ² and the variance of the noise maximise the posterior probability
(C. E. Rasmussen and C. K. I. Williams, Gaussian Processes for Machine Learning, 2006, sections
4.2.1, 5.4.1 and 5.4.2).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.models.probablescales import probable_scales

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.base.arrays import Floats
    from tasksim.models.tensor.grid import TensorAxis


__all__ = ["MAX_ROWS", "AxisScales", "Kriging", "krige", "learn_scales"]

MAX_ROWS: Final = 4096
"""Maximum number of rows: beyond, the covariances, 128 MB, and the time, n^3/3 operations, are
too much."""
MAX_LEARNING_ROWS: Final = 512
"""Maximum number of rows for learning scales: some 30 evaluations of n^3 operations take a second
on a busy core. Fewer are faster, but scales are less certain."""
FIRST_LENGTH: Final = 0.5
"""Initial scale in the search, as a share of the range: the middle of possible scales."""
PRIOR_NOISE_SHARE: Final = 0.1
"""Prior share of noise in the variance, in the middle between 1 % and all."""
BLOCK_COVARIANCES: Final = 4_000_000
"""Maximum number of covariances held at once: 32 MB."""
CACHED_COVARIANCES: Final = 32_768
"""Number of covariances computed at once: 256 kB, which stay in the cache between the
operations."""


@dataclass(frozen=True)
class AxisScales:
    """Hyperparameters of a Gaussian process.

    Attributes
    ----------
    lengths
        float64 [modes], length scales as shares of the ranges.
    signal, noise
        Variances of the function, and of measurements about it.
    levels
        Per axis, the categories that have a scale each; None for other axes, which have one.
    """

    lengths: Floats
    signal: float
    noise: float
    levels: tuple[Floats | None, ...] = ()

    def on(self, axes: Sequence[TensorAxis]) -> AxisScales:
        """Return the scales for *axes* of a part of the samples, which may lack categories."""
        if not any(levels is not None for levels in self.levels):
            return self
        widths = [1 if levels is None else len(levels) for levels in self.levels]
        parts = np.split(self.lengths, np.cumsum(widths)[:-1])
        kept = [
            part if levels is None else part[np.searchsorted(levels, axis.points)]
            for part, levels, axis in zip(parts, self.levels, axes, strict=True)
        ]
        return replace(self, lengths=np.concatenate(kept), levels=_levels(axes))


@dataclass(frozen=True, eq=False)
class Kriging:
    """A Gaussian process conditioned on some rows."""

    axes: Sequence[TensorAxis]
    scales: AxisScales
    rows: Floats
    weights: Floats

    def values(self, table: Floats) -> Floats:
        """Return the mean of the process at each row of parameters."""
        there = _features(self.axes, table)
        step = max(1, BLOCK_COVARIANCES // max(1, len(self.rows)))
        parts = [
            _covariances(there[at : at + step], self.rows, self.scales) @ self.weights
            for at in range(0, len(there), step)
        ]
        return np.concatenate([np.empty(0), *parts])


def krige(axes: Sequence[TensorAxis], table: Floats, values: Floats, scales: AxisScales) -> Kriging:
    """Return the process conditioned on *values*, of mean 0, at the rows of *table*."""
    from scipy.linalg import cho_solve

    rows = _features(axes, table)
    lower = _cholesky(_covariances(rows, rows, scales), scales.noise)
    return Kriging(axes, scales, rows, cho_solve((lower, True), values))


def learn_scales(
    axes: Sequence[TensorAxis], table: Floats, values: Floats, seed: int = 0
) -> AxisScales:
    """Return the scales with the largest posterior probability for *values*.

    The prior is weak: a scale of about half the range, noise of about a tenth of the variance. At
    most 512 rows are used, drawn at random.
    """
    some = np.random.default_rng(seed).permutation(len(values))[:MAX_LEARNING_ROWS]
    rows = _features(axes, table[some])
    of = np.arange(rows.shape[1])
    found = probable_scales(_correlations, rows, values[some], of, FIRST_LENGTH, PRIOR_NOISE_SHARE)
    return AxisScales(*found, _levels(axes))


def _levels(axes: Sequence[TensorAxis]) -> tuple[Floats | None, ...]:
    """Return the categories of each axis; None for axes of numbers."""
    return tuple(axis.points if axis.kind == "categorical" else None for axis in axes)


def _correlations(rows: Floats) -> tuple[Floats, Floats]:
    """Return the correlations of *rows* in lengths, and their slopes."""
    distances, decay = _distances(rows, rows, np.ones(rows.shape[1]))
    # d((1 + r) exp(-r))/d(ln ℓ_j) is exp(-r) times the j-th part of r², 3 (x_j - x'_j)²/ℓ_j².
    return (1 + distances) * decay, 3 * decay


def _cholesky(covariances: Floats, noise: float) -> Floats:
    from scipy.linalg import cholesky

    noisy = covariances.copy()
    noisy[np.diag_indices(len(noisy))] += noise
    return np.asarray(cholesky(noisy, lower=True, overwrite_a=True, check_finite=False))


def _covariances(a: Floats, b: Floats, scales: AxisScales) -> Floats:
    result = np.empty((len(a), len(b)))
    step = max(1, CACHED_COVARIANCES // max(1, len(b)))
    for at in range(0, len(a), step):
        distances, decay = _distances(a[at : at + step], b, scales.lengths)
        distances += 1
        distances *= decay
        np.multiply(distances, scales.signal, out=result[at : at + step])
    return result


def _distances(a: Floats, b: Floats, lengths: Floats) -> tuple[Floats, Floats]:
    """Return r between the rows of *a* and *b*, and exp(-r)."""
    squares = np.zeros((len(a), len(b)))
    for mode, length in enumerate(lengths.tolist()):
        difference = np.subtract.outer(a[:, mode] / length, b[:, mode] / length)
        squares += np.square(difference, out=difference)
    distances = np.sqrt(3 * squares)
    return distances, np.exp(-distances)


def _features(axes: Sequence[TensorAxis], table: Floats) -> Floats:
    """Return each mode on its axis' scale, from 0 to 1 over the range; a column per category."""
    columns = []
    for mode, axis in enumerate(axes):
        if axis.kind == "categorical":
            # Different categories have a distance of 1: 1/2 + 1/2 of their columns, squared.
            columns.append(np.sqrt(0.5) * np.eye(len(axis))[axis.cell(table[:, mode])])
            continue
        low, width = axis.span
        columns.append(((axis.scale(table[:, mode]) - low) / width)[:, None])
    return np.hstack([np.empty((len(table), 0)), *columns])
