"""Typical mean: one that a rare stall does not move, and a stall of every day does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["typical_mean"]

BLOCK_SAMPLES: Final = 30
"""Of 30 runs of 10 samples, 5 % of them stalls of twenty times the duration: means are too short
by 0.4 % with blocks of 30, by 2.4 % with 10, since a block without a stall is then the median one.
One stalled run of 30 moves them by 0.2 %."""
LEAST_BLOCKS: Final = 5
"""The median of fewer is moved by two blocks; then the fence says better what is rare."""


def typical_mean(
    durations_s: NDArray[np.float64],
    runs: NDArray[np.int64] | None,
    kept: NDArray[np.bool_],
) -> float:
    """Return the mean duration of one configuration in a typical run, in seconds.

    The median of means over blocks of whole runs, all samples counting, each block of at least
    30 samples (Nemirovsky and Yudin, Problem Complexity and Method Efficiency in Optimization,
    1983; Lugosi and Mendelson, Foundations of Computational Mathematics 19, 2019, section 2.1).
    A stall that happens once in a hundred runs leaves it alone; on a machine where every run
    loses its core now and then, it has those stalls in it, as the runs to be predicted will.

    With fewer than 5 such blocks, or runs that are not known: the mean of the samples that are
    *kept*, that is, no outliers.
    """
    if runs is not None and (runs >= 0).all():
        means = _block_means(durations_s, runs)
        if len(means) >= LEAST_BLOCKS:
            return float(np.median(means))
    return float(durations_s[kept].mean())


def _block_means(durations_s: NDArray[np.float64], runs: NDArray[np.int64]) -> NDArray[np.float64]:
    _, run = np.unique(runs, return_inverse=True)
    counts = np.bincount(run)
    # A run belongs to the block in which the sample before its first one falls.
    before = np.cumsum(counts) - counts
    starts = before // BLOCK_SAMPLES
    block_of_run = np.cumsum(np.diff(starts, prepend=starts[0]) > 0)
    if counts[block_of_run == block_of_run[-1]].sum() < BLOCK_SAMPLES and block_of_run[-1] > 0:
        block_of_run[block_of_run == block_of_run[-1]] -= 1
    block = block_of_run[run]
    means: NDArray[np.float64] = np.bincount(block, durations_s) / np.bincount(block)
    return means
