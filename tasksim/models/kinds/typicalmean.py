"""Typical mean: median of block means, robust to rare stalls but not to those of every run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["typical_mean"]

MIN_BLOCK_SAMPLES: Final = 30
"""Minimum number of samples per block. For 30 runs of 10 samples, 5 % of them stalls of twenty
times the duration, means are too short by 0.4 % with blocks of 30 and by 2.4 % with 10, where the
median block has no stall. One stalled run of 30 moves them by 0.2 %."""
MIN_BLOCKS: Final = 5
"""Minimum number of blocks: two blocks can move the median of fewer, and the fence is then a better
criterion."""


def typical_mean(
    durations_s: NDArray[np.float64],
    runs: NDArray[np.int64] | None,
    kept: NDArray[np.bool_],
) -> float:
    """Return the mean duration of one configuration in a typical run, in seconds.

    The median of means over blocks of whole runs, with all samples, each block of at least
    30 samples (Nemirovsky and Yudin, Problem Complexity and Method Efficiency in Optimization,
    1983; Lugosi and Mendelson, Foundations of Computational Mathematics 19, 2019, section 2.1).
    A stall that happens once in a hundred runs does not affect it; on a machine where every run
    loses its core now and then, it includes those stalls, as predicted runs will.

    With fewer than 5 such blocks, or unknown runs: the mean of the samples that are
    *kept*, without outliers.
    """
    if runs is not None and (runs >= 0).all():
        means = _block_means(durations_s, runs)
        if len(means) >= MIN_BLOCKS:
            return float(np.median(means))
    return float(durations_s[kept].mean())


def _block_means(durations_s: NDArray[np.float64], runs: NDArray[np.int64]) -> NDArray[np.float64]:
    _, run = np.unique(runs, return_inverse=True)
    counts = np.bincount(run)
    # A run belongs to the block that contains the sample before its first one.
    before = np.cumsum(counts) - counts
    starts = before // MIN_BLOCK_SAMPLES
    block_of_run = np.cumsum(np.diff(starts, prepend=starts[0]) > 0)
    # A last block that is too small is merged into the one before.
    if counts[block_of_run == block_of_run[-1]].sum() < MIN_BLOCK_SAMPLES and block_of_run[-1] > 0:
        block_of_run[block_of_run == block_of_run[-1]] -= 1
    block = block_of_run[run]
    means: NDArray[np.float64] = np.bincount(block, durations_s) / np.bincount(block)
    return means
