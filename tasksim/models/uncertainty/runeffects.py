"""Variation between whole runs beyond the noise of their tasks.

A duration in a run is modelled as the kernel's mean, times a factor of the run that all kernels
share, times a factor of kernel and run, times noise. Variances are estimated by moments: the
variance of the means of runs beyond the noise of their samples (one-way analysis of variance,
random effects, unbalanced: Searle, Casella and McCulloch, "Variance components", 1992, section
3.6), and its part that the means of a kernel have in common with others in the same runs, their
covariance. Autocorrelated runs, in one mood of the machine, count as fewer.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tasksim.models.quantiles import FENCE_WIDTH, group_means, inliers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tasksim.base.arrays import Floats, Ints
    from tasksim.base.documents.json_document import JsonNode
    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.samples import Samples

__all__ = ["RunEffect", "run_effects"]

MIN_RUNS: Final = 2
"""Minimum number of runs to estimate their variation."""
MIN_COMMON_RUNS: Final = 3
"""Minimum number of common runs for the covariance of two kernels: with two, its sign is chance."""
EXTREME_DEVIATIONS: Final = 3.0
"""Standard deviations beyond which the mean of a run is extreme: by chance, one in 400 is."""
NORMAL_MAD: Final = 1.4826
"""Standard deviation of a normal distribution, in median absolute deviations."""


@dataclass(frozen=True, slots=True)
class RunEffect:
    """Run-to-run variation of one kernel, as standard deviations of logarithms.

    Parameters
    ----------
    shared : float
        Deviation of the factor that all kernels of a run share, as it affects this kernel.
    own : float
        Deviation of the kernel's own factor.
    runs : int
        Number of independent runs behind the estimate; with fewer than two nothing is known.

    Examples
    --------
    >>> RunEffect(shared=0.03, own=0.01, runs=12).known
    True
    """

    shared: float
    own: float
    runs: int

    @property
    def known(self) -> bool:
        """Whether there were enough runs to compare."""
        return self.runs >= MIN_RUNS

    def to_json(self) -> dict[str, Any]:
        """Return the effect as plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, node: JsonNode) -> RunEffect:
        """Read what :meth:`to_json` wrote."""
        values = {n: node[n].not_negative("a deviation, not negative") for n in ("shared", "own")}
        return cls(runs=node["runs"].integer(), **values)


class _Runs(NamedTuple):
    """Mean ratios of measured to predicted durations of one kernel by run, and their variance."""

    numbers: Ints
    means: Floats
    variance: float
    """Variance between runs, beyond noise."""
    total: float
    """Variance of the means of runs, including noise."""

    @property
    def independent(self) -> int:
        """The effective number of independent runs, reduced by the lag-1 autocorrelation."""
        count = len(self.numbers)
        if count <= MIN_COMMON_RUNS or not self.total:
            return count
        before, after = self.means[:-1], self.means[1:]
        alike = float(np.clip(np.cov(before, after)[0, 1] / self.total, 0.0, 1.0))
        return max(round(count * (1.0 - alike) / (1.0 + alike)), MIN_RUNS)


def run_effects(
    samples: Mapping[str, Samples], models: Mapping[str, KernelModel]
) -> dict[str, RunEffect]:
    """Return the run-to-run variation of each kernel of one calibration.

    Parameters
    ----------
    samples : mapping
        Kernel -> its samples; the numbers of runs are common to all kernels.
    models : mapping
        Kernel -> its model, fitted to these samples; without one, the means of
        configurations that occur in several runs are used.

    Returns
    -------
    dict
        Kernel -> its effect; an unknown one for a single run, or for unknown runs.
    """
    runs = {name: _runs(of, models.get(name)) for name, of in samples.items()}
    measured = [of for of in runs.values() if len(of.numbers) >= MIN_RUNS]
    effects = {name: RunEffect(0.0, 0.0, len(of.numbers)) for name, of in runs.items()}
    for name, of in runs.items():
        if len(of.numbers) >= MIN_RUNS:
            shared = _shared(of, [other for other in measured if other is not of])
            own = max(of.variance - shared, 0.0)
            effects[name] = RunEffect(float(np.sqrt(shared)), float(np.sqrt(own)), of.independent)
    return effects


def _runs(samples: Samples, model: KernelModel | None) -> _Runs:
    """Return the deviation of each run of a kernel from its model.

    Outliers are dropped as in fits, unless the durations already exclude the time of other
    programs: a task that is long nevertheless may be as long in the predicted run.
    """
    group = samples.configurations()[1]
    known = np.ones(len(samples), np.bool_)
    if samples.wall_s is None:
        known = inliers(samples, group, FENCE_WIDTH if model is None else model.fence)
    runs = np.full(len(samples), -1) if samples.runs is None else samples.runs
    known &= runs >= 0
    if model is None:
        # Without a model, a configuration tells runs apart only if it occurs in several.
        pairs = np.unique(np.column_stack([group, runs]), axis=0)
        known &= np.bincount(pairs[:, 0])[group] >= MIN_RUNS
    if not known.any():
        return _Runs(np.empty(0, np.int64), np.empty(0), 0.0, 0.0)
    used = samples.select(known)
    if model is None:
        group = used.configurations()[1]
        expected = group_means(used.durations_s, group)[group]
    else:
        expected = model.predict(used.parameters)
    return _compared(used.durations_s / expected, runs[known])


def _compared(ratio: Floats, runs: Ints) -> _Runs:
    """Return the statistics of runs from ratios of measured to expected durations."""
    numbers, run = np.unique(runs, return_inverse=True)
    counts = np.bincount(run).astype(np.float64)
    means = np.bincount(run, ratio) / counts
    # A run that was held up is not typical.
    middle = np.median(means)
    reach = EXTREME_DEVIATIONS * NORMAL_MAD * float(np.median(np.abs(means - middle)))
    if reach:
        means = np.clip(means, middle - reach, middle + reach)
    if len(numbers) < MIN_RUNS:
        return _Runs(numbers, means, 0.0, 0.0)
    center = float(counts @ means / counts.sum())
    free = counts.sum() - len(numbers)
    within = float(((ratio - means[run]) ** 2).sum() / free) if free > 0 else 0.0
    between = float(counts @ (means - center) ** 2 / (len(numbers) - 1))
    size = (counts.sum() - counts @ counts / counts.sum()) / (len(numbers) - 1)
    total = float(np.var(means, ddof=1))
    return _Runs(numbers, means, max((between - within) / size, 0.0) / center**2, total)


def _shared(of: _Runs, others: Sequence[_Runs]) -> float:
    """Return the variance of the factor that a kernel shares with *others*, from correlations.

    Correlations are of the variation of runs beyond noise; each pair of kernels is weighted by
    its number of common runs. All variance of a single kernel counts as shared.
    """
    if not others:
        return of.variance
    sums = np.zeros(2)
    for other in others:
        _, mine, theirs = np.intersect1d(of.numbers, other.numbers, return_indices=True)
        if len(mine) < MIN_COMMON_RUNS or not of.variance * other.variance:
            continue
        covariance = float(np.cov(of.means[mine], other.means[theirs])[0, 1])
        weight = len(mine) - 1
        sums += weight * covariance / (of.variance * other.variance) ** 0.5, weight
    return of.variance * float(np.clip(sums[0] / sums[1], 0.0, 1.0)) if sums[1] else 0.0
