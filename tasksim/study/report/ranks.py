"""Average ranks of schedulers, with Friedman's test and Nemenyi's critical difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from tasksim.study.report.evidence import CONFIDENCE_LEVEL
from tasksim.study.report.pairs import TIE_TOLERANCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["RankTest", "critical_difference", "rank_rows", "rank_test"]


@dataclass(frozen=True)
class RankTest:
    """Average ranks, and the result of their test.

    Parameters
    ----------
    schedulers : tuple of str
        Schedulers by average rank, the lowest first.
    ranks : tuple of float
        Average ranks, 1 is best; ties share the mean of their ranks.
    blocks : int
        Number of blocks.
    chi_square : float or None
        Friedman's statistic, corrected for ties; None for fewer than three schedulers or two
        blocks.
    f : float or None
        Iman and Davenport's statistic, which is less conservative; infinite if all blocks agree.
    p_value : float or None
        p-value of *f*.
    critical_difference : float
        Nemenyi's critical difference: average ranks that are further apart differ.
    alike : tuple of tuple of str
        Largest sets of schedulers within the critical difference.

    See Also
    --------
    rank_test : Compute the ranks and the test.
    """

    schedulers: tuple[str, ...]
    ranks: tuple[float, ...]
    blocks: int
    chi_square: float | None
    f: float | None
    p_value: float | None
    critical_difference: float
    alike: tuple[tuple[str, ...], ...]

    @property
    def differ(self) -> bool:
        """Whether the ranks differ significantly, at the level of :data:`CONFIDENCE_LEVEL`."""
        return self.p_value is not None and self.p_value < 1.0 - CONFIDENCE_LEVEL


def rank_test(
    values: NDArray[np.float64], schedulers: Sequence[str], confidence: float = CONFIDENCE_LEVEL
) -> RankTest:
    """Return average ranks, Friedman's test and Nemenyi's critical difference.

    Parameters
    ----------
    values : array of float, (blocks, schedulers)
        Logarithms of makespans, or other values of which lower ones are better; only their order
        within a row counts.
    schedulers : sequence of str
    confidence : float, default 0.95

    Returns
    -------
    RankTest

    See Also
    --------
    tasksim.study.report.differences.differences : Relative differences of the makespans.

    Notes
    -----
    J. Demšar, "Statistical comparisons of classifiers over multiple data sets", Journal of Machine
    Learning Research 7 (2006), pp. 1-30, section 3.2.2: Friedman's statistic, Iman and
    Davenport's F_F, and CD = q_alpha sqrt(k (k + 1) / (6 N)). Friedman's statistic here is divided
    by the share of variance that ties leave, as SciPy does.

    Examples
    --------
    >>> test = rank_test(np.array([[1.0, 2.0, 3.0], [1.0, 3.0, 2.0]]), ["a", "b", "c"])
    >>> test.schedulers, test.ranks
    (('a', 'b', 'c'), (1.0, 2.5, 2.5))
    """
    ranks = rank_rows(values)
    blocks, k = ranks.shape
    means = ranks.mean(axis=0) if blocks else np.full(k, np.nan)
    order = np.lexsort((np.arange(k), means))
    chi_square, f, p_value = _friedman(ranks)
    distance = critical_difference(k, blocks, confidence)
    names = tuple(schedulers[i] for i in order)
    return RankTest(
        names,
        tuple(float(mean) for mean in means[order]),
        blocks,
        chi_square,
        f,
        p_value,
        distance,
        _alike(names, means[order], distance),
    )


def rank_rows(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rank of each value in its row, from 1; ties share the mean of theirs.

    Values are logarithms; neighbours within :data:`~tasksim.study.report.pairs.TIE_TOLERANCE` are
    ties.

    >>> rank_rows(np.array([[0.0, 1.0, 1.0], [2.0, 1.0, 0.0]])).tolist()
    [[1.0, 2.5, 2.5], [3.0, 2.0, 1.0]]
    """
    order = np.argsort(values, axis=1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=1)
    later = np.diff(ordered, axis=1) > TIE_TOLERANCE
    place = np.concatenate([np.zeros((len(values), 1), dtype=int), later.cumsum(axis=1)], axis=1)
    level = np.empty_like(place)
    np.put_along_axis(level, order, place, axis=1)
    ranks: NDArray[np.float64] = stats.rankdata(level, axis=1)
    return ranks


def critical_difference(
    schedulers: int, blocks: int, confidence: float = CONFIDENCE_LEVEL
) -> float:
    """Return Nemenyi's critical difference of average ranks; infinite if there are no blocks.

    Parameters
    ----------
    schedulers, blocks : int
    confidence : float, default 0.95

    Notes
    -----
    q is the quantile of the studentized range for infinite degrees of freedom, over the square
    root of two: Demšar (2006), table 5.

    Examples
    --------
    >>> round(critical_difference(4, 14), 2), round(critical_difference(4, 14, 0.90), 2)
    (1.25, 1.12)
    """
    if schedulers < 2 or not blocks:
        return float("inf")
    q = float(stats.studentized_range.ppf(confidence, schedulers, np.inf)) / np.sqrt(2.0)
    return float(q * np.sqrt(schedulers * (schedulers + 1) / (6.0 * blocks)))


def _friedman(
    ranks: NDArray[np.float64],
) -> tuple[float | None, float | None, float | None]:
    """Return Friedman's statistic, Iman and Davenport's, and the p-value of the latter."""
    blocks, k = ranks.shape
    if blocks < 2 or k < 3:
        return None, None, None
    middle = (k + 1) / 2.0
    spread = ((ranks - middle) ** 2).sum()
    if spread == 0.0:  # all tie everywhere
        return 0.0, 0.0, 1.0
    between = blocks * ((ranks.mean(axis=0) - middle) ** 2).sum()
    chi_square = float((k - 1) * blocks * between / spread)
    most = blocks * (k - 1)
    if chi_square >= most * (1.0 - TIE_TOLERANCE):
        return chi_square, float("inf"), 0.0
    f = (blocks - 1) * chi_square / (most - chi_square)
    return chi_square, f, float(stats.f.sf(f, k - 1, (k - 1) * (blocks - 1)))


def _alike(
    names: tuple[str, ...], ranks: NDArray[np.float64], distance: float
) -> tuple[tuple[str, ...], ...]:
    """Return the largest runs of sorted *ranks* that are not wider than *distance*."""
    found: list[tuple[int, int]] = []
    for first in range(len(names)):
        last = int(np.searchsorted(ranks, ranks[first] + distance, side="right")) - 1
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return tuple(names[first : last + 1] for first, last in found)
