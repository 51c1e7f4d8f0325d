"""Differences between pairs of schedulers, with intervals by the paired bootstrap."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy import stats

from tasksim.study.report.evidence import CONFIDENCE_LEVEL
from tasksim.study.report.pairs import TIE_TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

__all__ = ["RelativeDifference", "differences", "intervals", "leading_shares"]

RESAMPLES: Final = 9999
"""Number of resamples, as in SciPy: the ends of an interval then vary by less than a hundredth of
its width."""
RESAMPLING_SEED: Final = 20020201
"""Seed of the resampling; it is fixed, so that the same table gives the same report."""
_MAX_NUMBERS_AT_ONCE: Final = 4_000_000
"""Maximum number of resampled values in memory at a time: 32 MB."""


@dataclass(frozen=True)
class RelativeDifference:
    """Mean relative difference between the makespans of two schedulers.

    Parameters
    ----------
    faster, slower : str
        The schedulers, in the order of their means, or of their names if the means are equal.
    relative, low, high : float
        Geometric mean of the makespan of *slower* over that of *faster*, minus one, and the ends of
        its interval.

    See Also
    --------
    differences : Compute the differences of all pairs.
    """

    faster: str
    slower: str
    relative: float
    low: float
    high: float

    @property
    def is_sure(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low > TIE_TOLERANCE


def differences(
    log_s: NDArray[np.float64], schedulers: Sequence[str], confidence: float = CONFIDENCE_LEVEL
) -> list[RelativeDifference]:
    """Return the differences of all pairs of schedulers.

    Parameters
    ----------
    log_s : array of float, (blocks, schedulers)
        Natural logarithms of makespans. All schedulers share the resampled blocks: the runs have
        common random numbers, so noise that hits all schedulers alike cancels out.
    schedulers : sequence of str
    confidence : float, default 0.95
        Confidence level of each interval by itself, not of all together.

    Returns
    -------
    list of RelativeDifference
        The differences, ordered by the faster scheduler, then by the slower one.

    See Also
    --------
    tasksim.study.report.ranks.rank_test : Joint test of the ranks of all schedulers.

    Notes
    -----
    Intervals are studentized (bootstrap-t): B. Efron and R. J. Tibshirani, "An Introduction to the
    Bootstrap" (1993), section 12.5. Percentile and BCa intervals of few values are too narrow: for
    six normal values, 95 % intervals of BCa contain the mean in 87 % of cases, these in 95 %.

    Examples
    --------
    >>> log_s = np.log([[1.0, 1.1], [2.0, 2.2], [3.0, 3.3], [1.0, 1.1], [1.0, 1.1], [5.0, 5.5]])
    >>> (found,) = differences(log_s, ["prio", "eager"])
    >>> found.faster, round(found.relative, 6), round(found.low, 6), found.is_sure
    ('prio', 0.1, 0.1, True)
    """
    means = log_s.mean(axis=0)
    # Rounded, so that ties do not depend on the order of summation; equal means go by name.
    order = sorted(range(len(schedulers)), key=lambda k: (round(float(means[k]), 9), schedulers[k]))
    pairs = list(combinations(order, 2))
    gaps = np.stack([log_s[:, j] - log_s[:, i] for i, j in pairs], axis=1)
    ends = np.expm1(intervals(gaps, confidence))
    return [
        RelativeDifference(schedulers[i], schedulers[j], float(mean), float(low), float(high))
        for (i, j), mean, (low, high) in zip(pairs, np.expm1(gaps.mean(axis=0)), ends, strict=True)
    ]


def intervals(
    values: NDArray[np.float64], confidence: float = CONFIDENCE_LEVEL
) -> NDArray[np.float64]:
    """Return the confidence intervals of the means of the columns of *values*.

    Parameters
    ----------
    values : array of float, (blocks, columns)
        Two or more rows.
    confidence : float, default 0.95

    Returns
    -------
    array of float, (columns, 2)
        The ends of each interval; both are the mean if all values of a column are equal.

    See Also
    --------
    differences : Differences of pairs of schedulers.

    Examples
    --------
    >>> values = np.array([[0.1, 1.0], [0.1, 2.0], [0.1, 3.0], [0.1, 4.0], [0.1, 5.0]])
    >>> intervals(values).round(1).tolist()
    [[0.1, 0.1], [0.7, 5.3]]
    """
    blocks = len(values)
    means = values.mean(axis=0)
    spread = values.std(axis=0, ddof=1) / np.sqrt(blocks)
    drawn, errors = _resampled(values - means)
    # A resample of equal values has a standard error of 0, and t would be infinite: t is limited to
    # the value that Student's distribution exceeds once in RESAMPLES draws.
    most = float(stats.t.isf(1.0 / RESAMPLES, blocks - 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.clip(np.nan_to_num(drawn / errors), -most, most)
    levels = [(1.0 + confidence) / 2.0, (1.0 - confidence) / 2.0]
    ends: NDArray[np.float64] = means[:, None] - np.quantile(t, levels, axis=0).T * spread[:, None]
    same = np.ptp(values, axis=0) <= TIE_TOLERANCE
    ends[same] = means[same, None]
    return ends


def leading_shares(log_s: NDArray[np.float64], schedulers: Sequence[str]) -> dict[str, float]:
    """Return the share of resamples in which each scheduler has the lowest mean; ties are split.

    >>> leading_shares(np.log([[1.0, 2.0, 1.0]] * 6), ["a", "b", "c"])
    {'a': 0.5, 'b': 0.0, 'c': 0.5}
    """
    means, _ = _resampled(log_s)
    first = means <= means.min(axis=1, keepdims=True) + TIE_TOLERANCE
    shares = (first / first.sum(axis=1, keepdims=True)).mean(axis=0)
    return {name: float(share) for name, share in zip(schedulers, shares, strict=True)}


def _resampled(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return means of resampled rows, the same rows for all columns, and their standard errors."""
    blocks = len(values)
    means, errors = [], []
    for shares in _shares(blocks):
        mean = shares @ values
        variance = shares @ values**2 - mean**2
        means.append(mean)
        errors.append(np.sqrt(np.maximum(variance, 0.0) / max(blocks - 1, 1)))
    return np.concatenate(means), np.concatenate(errors)


def _shares(blocks: int) -> Iterable[NDArray[np.float64]]:
    """Return the weight of each block in each resample, in parts that fit into memory."""
    if RESAMPLES * blocks <= _MAX_NUMBERS_AT_ONCE:
        return (_drawn(blocks, RESAMPLES),)
    rng, step = np.random.default_rng(RESAMPLING_SEED), max(1, _MAX_NUMBERS_AT_ONCE // blocks)
    sizes = (min(step, RESAMPLES - start) for start in range(0, RESAMPLES, step))
    return (_draw(rng, blocks, size) for size in sizes)


@lru_cache(maxsize=4)  # up to 32 MB each; all questions on best settings have the same few seeds
def _drawn(blocks: int, size: int) -> NDArray[np.float64]:
    return _draw(np.random.default_rng(RESAMPLING_SEED), blocks, size)


def _draw(rng: np.random.Generator, blocks: int, size: int) -> NDArray[np.float64]:
    return rng.multinomial(blocks, np.full(blocks, 1.0 / blocks), size=size) / blocks
