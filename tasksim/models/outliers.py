"""Outliers among samples: durations far from those of their configuration, and rare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.models.quantiles import group_quantiles, within_fence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.models.samples import Samples

__all__ = ["inliers"]

MIN_RUNS: Final = 5
"""Smallest number of runs whose median is meaningful: two runs can move the median of fewer. With
fewer, only the fence decides."""


def inliers(samples: Samples, groups: NDArray[np.intp], fence: float | None) -> NDArray[np.bool_]:
    """Return which samples are not outliers, for configurations numbered by *groups*.

    An outlier is far from its configuration (:func:`~tasksim.models.quantiles.within_fence`)
    and rare: it exceeds the upper quartile of its configuration by more seconds than the
    worst sample of the median run. Tasks of some microseconds have a long tail in every run,
    of page faults and interrupts, a tenth of them and half of their time; a predicted run will
    have this tail, too. A core that is lost for milliseconds, in one run of three, is an outlier.

    If the runs are unknown, or fewer than 5, only the fence decides.

    >>> from tasksim.models.samples import Samples
    >>> usual = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 9.0]  # each run has its 9
    >>> runs = [run for run in range(5) for _ in usual]
    >>> samples = Samples((), [()] * 41, [*usual * 5, 99.0], [*runs, 4])
    >>> np.flatnonzero(~inliers(samples, samples.configurations()[1], 3.0)).tolist()
    [40]
    """
    kept = within_fence(samples.durations_s, groups, fence)
    runs = samples.runs
    if kept.all() or runs is None or (runs < 0).any():
        return kept
    _, run = np.unique(runs, return_inverse=True)
    if run.max() + 1 < MIN_RUNS:
        return kept
    excess = samples.durations_s - group_quantiles(samples.durations_s, groups, (0.75,))[groups, 0]
    worst = np.zeros(run.max() + 1)
    np.maximum.at(worst, run, excess)
    usual: NDArray[np.bool_] = (excess > 0) & (excess <= np.median(worst))
    return kept | usual
