"""Student's intervals of means, and of the total time of a kernel.

If tasks hardly repeat a configuration, no configuration is ever known well; but the coefficients of
a linear model depend on all tasks together. Tasks of one run share its conditions (the frequency,
other programs), so the independent unit is the run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tasksim.models.quantiles import FENCE_WIDTH, group_means, inliers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from tasksim.base.arrays import Floats, Ints
    from tasksim.models.samples import Samples

__all__ = [
    "TotalTime",
    "newest_runs",
    "percent",
    "relative_half_width",
    "runs_alike",
    "share_done",
    "total_time",
    "welch_quantile",
]


def relative_half_width(samples: ArrayLike, confidence: float = 0.95) -> float:
    """Return the half-width of Student's interval of the mean, relative to the mean.

    It is infinite for fewer than two samples. The quantile is Student's, not the normal one, so
    that a handful of samples does not look more precise than it is.

    >>> round(relative_half_width([9.0, 10.0, 11.0]), 4)
    0.2484
    """
    from scipy.special import stdtrit

    values = np.asarray(samples, dtype=np.float64)
    count = len(values)
    if count < 2:
        return float("inf")
    quantile = stdtrit(count - 1, 0.5 + confidence / 2)
    return float(quantile * values.std(ddof=1) / np.sqrt(count) / values.mean())


def welch_quantile(variances: Floats, counts: Ints, confidence: float) -> float:
    """Return Student's quantile of a sum of independent means; 0 if nothing varies.

    *variances* are those of the means, each of *counts* values. The degrees of freedom are Welch's
    and Satterthwaite's, (sum of v)^2 / sum of v^2 / (n - 1) (B. L. Welch, "The generalization of
    'Student's' problem when several different population variances are involved", Biometrika 34,
    1947).
    """
    from scipy.special import stdtrit

    whole = float(variances.sum())
    if not whole:
        return 0.0
    freedom = whole**2 / float((variances**2 / np.maximum(counts - 1, 1)).sum())
    return float(stdtrit(freedom, 0.5 + confidence / 2))


def share_done(wanted: float, reached: float) -> float:
    """Return the completed share of a measurement, whose variances shrink as it goes on.

    *wanted* and *reached* are half-widths or errors; the share is 0 if *reached* is unknown.

    >>> share_done(0.02, 0.04), share_done(0.02, float("inf"))
    (0.25, 0.0)
    """
    return min((wanted / reached) ** 2, 1.0) if reached and np.isfinite(reached) else 0.0


def percent(share: float) -> str:
    """Return *share* as text.

    >>> percent(0.0234), percent(1.5)
    ('2.3 %', '150 %')
    """
    return f"{100 * share:.2g} %" if share < 1 else f"{100 * share:.0f} %"


@dataclass(frozen=True)
class TotalTime:
    """Total time of a kernel's tasks, with one run of each input.

    Attributes
    ----------
    mean_s
        Mean over runs; 0 if there are none.
    half_width
        Half-width of the mean's interval, relative to the mean.
    runs
        Number of runs.
    """

    mean_s: float
    half_width: float
    runs: int


def runs_alike(samples: Samples) -> list[Ints]:
    """Return the runs of *samples* in groups of runs with the same tasks, in ascending order.

    Runs with the same configurations, each equally often, are runs of one input. Samples of unknown
    runs belong to no group.
    """
    if samples.runs is None or not len(samples):
        return []
    group = samples.configurations()[1]
    order = np.lexsort((group, samples.runs))
    runs, starts = np.unique(samples.runs[order], return_index=True)
    tasks = np.split(group[order], starts[1:])
    alike: dict[bytes, list[int]] = {}
    for run, mine in zip(runs.tolist(), tasks, strict=True):
        if run >= 0:
            alike.setdefault(mine.tobytes(), []).append(run)
    return [np.array(numbers) for numbers in alike.values()]


def newest_runs(samples: Samples, most: int) -> Samples:
    """Return *samples* without old runs: keep the *most* newest runs of each input.

    Samples of unknown runs stay.
    """
    old = [numbers[:-most] for numbers in runs_alike(samples)]
    if samples.runs is None or not any(map(len, old)):
        return samples
    return samples.select(~np.isin(samples.runs, np.concatenate(old)))


def total_time(samples: Samples, confidence: float = 0.95, since: int = 0) -> TotalTime:
    """Return the total time of the tasks of *samples*, one run of each input, and its precision.

    Parameters
    ----------
    confidence
        Confidence level of the interval.
    since
        Inputs count if they have a run of this number or later; so do their earlier runs.

    Notes
    -----
    Input g has n_g runs, whose totals have the mean T_g and the variance s_g². The sum of the T_g
    has the variance Σ v_g, v_g = s_g²/n_g; see :func:`welch_quantile` for its interval. It is
    infinite if an input has only one run. An outlier counts as the mean of its configuration: a
    task that lost its core for a while is no reason to measure longer.
    """
    runs, totals = _run_totals(samples)
    inputs = [numbers for numbers in runs_alike(samples) if numbers[-1] >= since]
    per_input = [totals[np.searchsorted(runs, numbers)] for numbers in inputs]
    counts = np.array([len(values) for values in per_input])
    mean_s = float(sum(values.mean() for values in per_input))
    if not len(counts) or counts.min() < 2:
        return TotalTime(mean_s, np.inf, int(counts.sum()))
    variances = np.array([values.var(ddof=1) for values in per_input]) / counts
    half_width_s = welch_quantile(variances, counts, confidence) * np.sqrt(variances.sum())
    return TotalTime(mean_s, float(half_width_s) / mean_s, int(counts.sum()))


def _run_totals(samples: Samples) -> tuple[Ints, Floats]:
    """Return the numbers of the runs, and the total time of each without outliers."""
    if samples.runs is None or not len(samples):
        return np.empty(0, dtype=np.int64), np.empty(0)
    group = samples.configurations()[1]
    kept = inliers(samples, group, FENCE_WIDTH)  # as for the model whose total this is
    means = group_means(samples.durations_s[kept], group[kept])
    durations = np.where(kept, samples.durations_s, means[group])
    runs, run = np.unique(samples.runs, return_inverse=True)
    return runs, np.bincount(run, durations).astype(np.float64)
