"""A Gaussian process with a rational kernel, conditioned on many rows through a few of them.

The covariance of two rows is rational quadratic with α = 1,

    σ² / (1 + r²/2),    r² = Σ_j (x_j - x'_j)² / ℓ_j²

a mixture of squared exponentials of all lengths, for functions that are smooth in places and steep
in others; unlike Matérn's it needs no root and no exponential. Lengths ℓ_j, σ² and the variance of
the noise maximise the posterior probability (C. E. Rasmussen and C. K. I. Williams, Gaussian
Processes for Machine Learning, 2006, sections 4.2.1, 5.4.1 and 5.4.2).

The mean is a sum of the covariances with at most 2048 *centres*, some of the rows, whose weights
are those of the regression on all rows (the subset of regressors, sections 8.3.1 and 8.3.4). So the
time grows with the rows, not with their cube, and the process does not become larger.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tasksim.core.interface import functions
from tasksim.models.probablescales import MIN_NOISE_SHARE, probable_scales

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tasksim.base.arrays import Floats

__all__ = ["MAX_CENTRES", "Process", "ProcessRegression", "Scales", "Variance", "learn_scales"]

MAX_CENTRES: Final = 2048
"""Maximum number of centres: of 2048 samples, 1024 make errors up to a tenth larger."""
MANY_ROWS: Final = 4096
"""Number of rows beyond which there are half as many centres. Trees then learn the details, and
the time of a fit grows with the rows and the square of the centres."""
MAX_LEARNING_ROWS: Final = 768
"""Maximum number of rows for learning scales, some 40 evaluations of n³ operations."""
FIRST_LENGTH: Final = 0.85
"""Initial length in the search, in ranges of a parameter."""
FIRST_NOISE: Final = 0.05
"""Initial share of noise in the variance."""
NOISE_FACTORS: Final = (1.0, 0.3, 0.1, 0.03)
"""Factors on the learnt noise to choose from. To a few hundred rows, details look like noise that
thousands of rows tell from it."""
BLOCK_COVARIANCES: Final = 131_072
"""Number of covariances computed at once, half a megabyte, which stay in the cache of the core."""
LANES: Final = 16
"""Number of sums side by side, which are then added: single-precision numbers in the widest
register of common processors. The compiled core adds in the same order."""
GROUP: Final = 4 * LANES
"""Number of centres whose covariances are added at once, four per lane: fractions with a common
denominator take one division instead of four."""
LARGEST: Final = 2.0**29
"""Largest 2 + r²: the product of four is less than the largest single-precision number."""
MAX_SQUARE: Final = 2.0**18
"""Largest square of a centre whose distances are computed from products: the rounding error of
single precision is then less than 0.1 of the least 2 + r²."""
MAX_COORDINATE: Final = 2.0**13
"""Largest coordinate of a row in products: centres are as good as uncorrelated with it."""
MAX_SINGLE_ERROR: Final = 2e-4
"""Largest rounding error of the mean, estimated, up to which covariances have single precision.
Weights are large where durations have next to no noise; then it is double precision."""


MAX_KNOWN: Final = 512
"""Maximum number of centres that a variance is conditioned on: a row takes as many operations as a
square of it has elements. Of 512 samples of sixteen generated suites, drawn thinly in half of the
domain, 95 % intervals hold 95 % of the fifth with the largest variance with all 512, 93 % with 256,
91 % with 128, and 84 % without variance."""
ROWS_AT_ONCE: Final = 4096
"""Number of rows whose covariances with the known centres are held at once: 16 megabytes."""


@dataclass(frozen=True)
class Scales:
    """Hyperparameters: a length per column, and the variances of function and noise."""

    lengths: Floats
    signal: float
    noise: float


@dataclass(frozen=True, eq=False)
class Process:
    """The mean of a Gaussian process: a weighted sum of the covariances with the centres.

    Attributes
    ----------
    lengths
        float64 [columns].
    centres
        float64 [centres, columns], in lengths.
    weights
        float64 [centres].
    noise_share
        Variance of the noise by that of the function; None in files of earlier versions.
    rounding
        Largest accepted rounding error of the mean. None in files of earlier versions, which
        accept 2e-4, and whose distances are differences.
    """

    lengths: Floats
    centres: Floats
    weights: Floats
    noise_share: float | None = None
    rounding: float | None = None

    def predict(self, table: Floats) -> Floats:
        """Return the mean at each row of *table*."""
        found = np.empty(len(table))
        core = functions()
        # Squared distances may be infinite, of centres that are then as good as uncorrelated.
        with np.errstate(over="ignore"):
            packed = self._packed
            rows = packed.rows(table / self.lengths)
            if core is None:
                _add_covariances(rows, packed, found)
                return found
        way = "products" if packed.by_products else "process"
        mean = getattr(core, f"tasksim_{way}_{rows.dtype}")
        mean(
            rows.ctypes.data, *rows.shape, packed.centres.ctypes.data, packed.weights.ctypes.data,
            len(packed.centres), found.ctypes.data,
        )  # fmt: skip
        return found

    @cached_property
    def _packed(self) -> _Packed:
        limit = MAX_SINGLE_ERROR if self.rounding is None else self.rounding
        # Rounding errors of single precision, of either sign, add up like the weights' squares.
        share = 4 * np.finfo(np.float32).eps / 2
        error = share * float(np.sqrt((self.weights**2).sum()))
        precision = np.float32 if error <= limit else np.float64
        if self.rounding is None:
            return _pack(self.centres, self.weights, precision, None)
        middle = (self.centres.min(axis=0) + self.centres.max(axis=0)) / 2
        # Near a centre, 2 + r² is the difference of numbers that are as much larger.
        larger = 1 + np.square(self.centres - middle).sum(axis=1)
        error = share * float(np.sqrt(np.square(larger * self.weights).sum()))
        products = precision == np.float64 or error <= limit
        # A rounding error must not make 2 + r² of a row at a centre a small number.
        products = products and larger.max(initial=1.0) <= MAX_SQUARE
        return _pack(self.centres, self.weights, precision, middle if products else None)

    @cached_property
    def variance(self) -> Variance | None:
        """The variance of the process; None in files of earlier versions."""
        return Variance.of(self)

    def scaled(self, factor: float) -> Process:
        """Return the process with its mean multiplied by *factor*."""
        return replace(self, weights=factor * self.weights)


@dataclass(frozen=True, eq=False)
class ProcessRegression:
    """The regression of *values* at the rows of *table* on the covariances with some of them."""

    scales: Scales
    centres: Floats
    own: Floats
    gram: Floats
    side: Floats

    @classmethod
    def of(cls, table: Floats, values: Floats, scales: Scales, seed: int) -> ProcessRegression:
        """Return the regression; centres are drawn with *seed* if there are too many rows."""
        rows = table / scales.lengths
        count = min(len(rows), MAX_CENTRES if len(rows) <= MANY_ROWS else MAX_CENTRES // 2)
        some = np.sort(np.random.default_rng(seed).permutation(len(rows))[:count])
        centres = rows[some]
        gram, side = np.zeros((count, count)), np.zeros(count)
        step = MANY_ROWS
        for at in range(0, len(rows), step):
            between = _covariances(rows[at : at + step], centres)
            gram += between.T @ between
            side += values[at : at + step] @ between
        return cls(scales, centres, _covariances(centres, centres), gram, side)

    def at(self, factor: float) -> Process:
        """Return the process, with *factor* times the learnt noise."""
        from scipy.linalg import cho_factor, cho_solve

        share = max(factor * self.scales.noise / self.scales.signal, MIN_NOISE_SHARE)
        matrix = self.gram + share * self.own
        # A centre's own covariance makes the matrix regular where two centres nearly coincide.
        matrix[np.diag_indices(len(matrix))] += MIN_NOISE_SHARE * share * len(matrix)
        weights = cho_solve(cho_factor(matrix, lower=True), self.side)
        return Process(self.scales.lengths, self.centres, weights, share, MAX_SINGLE_ERROR)


@dataclass(frozen=True, eq=False)
class Variance:
    """The variance that is left of a process where some of its centres are known.

    It is relative to that before anything is known: near 0 amid many centres, near 1 far from all.

    Attributes
    ----------
    lengths
        float64 [columns].
    centres
        float64 [centres, columns], in lengths.
    noise_share
        Variance of the noise by that of the function.
    """

    lengths: Floats
    centres: Floats
    noise_share: float

    @classmethod
    def of(cls, process: Process) -> Variance | None:
        """Return the variance of *process*; None if it does not know its noise."""
        if process.noise_share is None:
            return None
        count = len(process.centres)
        some = np.arange(min(count, MAX_KNOWN)) * count // min(count, MAX_KNOWN)
        return cls(process.lengths, process.centres[some], process.noise_share)

    def __call__(self, table: Floats) -> Floats:
        """Return the variance at each row of *table*."""
        from scipy.linalg import blas

        found = np.empty(len(table))
        for at in range(0, len(table), ROWS_AT_ONCE):
            rows = table[at : at + ROWS_AT_ONCE] / self.lengths
            # As columns, covariances are in the order that BLAS overwrites without a copy.
            known = blas.dtrmm(
                1.0, self._inverse, _covariances(rows, self.centres).T, lower=1, overwrite_b=1
            )
            found[at : at + len(rows)] = 1 - np.einsum("ij,ij->j", known, known)
        return np.clip(found, 0.0, 1.0)

    def left_out(self, table: Floats) -> Floats:
        """Return the variance at each row; where it is a centre, as known from the others."""
        found = self(table)
        places = {row.tobytes(): place for place, row in enumerate(self.centres.astype(np.float32))}
        own = np.array(
            [places.get(row.tobytes(), -1) for row in (table / self.lengths).astype(np.float32)],
            dtype=np.intp,
        )
        # Rasmussen and Williams, equation 5.12: 1/(C⁻¹)_ii is the variance of the others' mean.
        alone = 1 / np.square(self._inverse).sum(axis=0) - self.noise_share
        found[own >= 0] = alone[own[own >= 0]]
        return np.clip(found, 0.0, 1.0)

    @cached_property
    def _inverse(self) -> Floats:
        """The inverse of the lower Cholesky factor of the covariances of noisy centres."""
        from scipy.linalg import cholesky, lapack

        matrix = _covariances(self.centres, self.centres)
        matrix[np.diag_indices(len(matrix))] += max(self.noise_share, MIN_NOISE_SHARE)
        lower = cholesky(matrix, lower=True)
        return np.asfortranarray(lapack.dtrtri(lower, lower=1)[0])


def learn_scales(table: Floats, values: Floats, parameters: Sequence[int], seed: int = 0) -> Scales:
    """Return the scales with the largest posterior probability for *values*.

    Parameters
    ----------
    table : ndarray, shape (n, columns)
        Rows with values from 0 to 1. At most 768 are used, drawn at random.
    values : ndarray, shape (n,)
        Their mean should be 0.
    parameters : sequence of int
        The parameter that each column belongs to; the columns of one share a length.
    """
    some = np.random.default_rng(seed).permutation(len(values))[:MAX_LEARNING_ROWS]
    of = np.asarray(parameters, dtype=np.intp)
    return Scales(
        *probable_scales(_correlations, table[some], values[some], of, FIRST_LENGTH, FIRST_NOISE)
    )


def _correlations(rows: Floats) -> tuple[Floats, Floats]:
    """Return the correlations of *rows* in lengths, and their slopes."""
    correlations = _covariances(rows, rows)
    # d(1/(1 + r²/2))/d(r²) is minus half its square, and dr²/d(ln ℓ_j) minus twice the j-th part.
    return correlations, correlations**2


def _covariances(rows: Floats, centres: Floats) -> Floats:
    """Return 1/(1 + r²/2) between *rows* and *centres*, both in lengths."""
    # One product of matrices gives 1 + r²/2 = 1 + |a|²/2 - a·b + |b|²/2.
    left = np.column_stack([-rows, (rows**2).sum(axis=1) / 2 + 1, np.ones(len(rows))])
    right = np.column_stack([centres, np.ones(len(centres)), (centres**2).sum(axis=1) / 2])
    found = left @ right.T
    np.maximum(found, 1.0, out=found)
    return np.asarray(np.reciprocal(found, out=found))


@dataclass(frozen=True, eq=False)
class _Packed:
    """The arrays of a process as its mean is computed from them.

    Attributes
    ----------
    centres
        [groups, columns, 64], the last group filled up with zeros. Before the columns of products,
        which are doubled and negative, there is one of 2 + |b|².
    weights
        Twice the weights, [groups * 64].
    middle
        What rows and centres are moved by, so that products are small; None: distances are
        subtracted.
    """

    centres: NDArray[Any]
    weights: NDArray[Any]
    middle: Floats | None

    @property
    def by_products(self) -> bool:
        """Whether squared distances are computed from products."""
        return self.middle is not None

    def rows(self, scaled: Floats) -> NDArray[Any]:
        """Return rows, in lengths, as the mean takes them: before products with |a|²."""
        precision = self.centres.dtype
        if self.middle is None:
            return np.ascontiguousarray(scaled, dtype=precision)
        found = np.empty((len(scaled), scaled.shape[1] + 1), dtype=precision)
        found[:, 1:] = np.clip(scaled - self.middle, -MAX_COORDINATE, MAX_COORDINATE)
        # Squares of the rounded numbers, so that a row at a centre is at distance zero from it.
        rounded = found[:, 1:].astype(np.float64)
        found[:, 0] = np.einsum("ij,ij->i", rounded, rounded)
        return found


def _pack(
    centres: Floats,
    weights: Floats,
    precision: type[np.floating[Any]],
    middle: Floats | None,
) -> _Packed:
    count, columns = centres.shape
    groups = -(-count // GROUP)
    wide, doubled = np.zeros((groups * GROUP, columns)), np.zeros(groups * GROUP)
    wide[:count], doubled[:count] = centres, 2 * weights
    if middle is not None:
        wide[:count] -= middle
        rounded = wide.astype(precision).astype(np.float64)
        wide = np.column_stack([2 + np.square(rounded).sum(axis=1), -2 * rounded])
    wide = wide.reshape(groups, GROUP, wide.shape[1]).transpose(0, 2, 1)
    packed = np.ascontiguousarray(wide, dtype=precision)
    return _Packed(packed, doubled.astype(precision), middle)


def _add_covariances(rows: NDArray[Any], packed: _Packed, out: Floats) -> None:
    """Write the weighted sums of covariances to *out*, as the compiled core does."""
    centres = packed.centres
    groups, columns, _ = centres.shape
    first, second, third, fourth = packed.weights.reshape(groups, 4, LANES).transpose(1, 0, 2)
    step = max(1, BLOCK_COVARIANCES // max(1, groups * GROUP))
    for at in range(0, len(rows), step):
        block = rows[at : at + step, :, None, None]
        if packed.by_products:
            squares = block[:, 0] + centres[:, 0]
            for column in range(1, columns):
                squares += block[:, column] * centres[:, column]
        else:
            squares = np.full((len(block), groups, GROUP), 2, dtype=rows.dtype)
            for column in range(columns):
                apart = block[:, column] - centres[:, column]
                apart *= apart
                squares += apart
        np.minimum(squares, squares.dtype.type(LARGEST), out=squares)
        a, b, c, d = squares.reshape(-1, groups, 4, LANES).transpose(2, 0, 1, 3)
        above, below = first * b + second * a, a * b
        others, under = third * d + fourth * c, c * d
        parts = (above * under + others * below) / (below * under)
        lanes = np.zeros((len(block), LANES), dtype=rows.dtype)
        for group in range(groups):
            lanes += parts[:, group]
        total = np.zeros(len(block))
        for lane in range(LANES):
            total += lanes[:, lane]
        out[at : at + step] = total
