"""Mean, prediction interval, and sources of variance of replicated makespans.

The replications of a group share the first draw, a model; some of them share the next one, a run;
the noise of tasks is drawn for each. With these three sources a group has three members, two of
which share the run: a staggered nested design, which spends no more on the inner sources than on
the outer ones (T. R. Bainbridge, "Staggered, nested designs for estimating variance components",
Industrial Quality Control 22, 1965).

A group of three does not show the mean over runs for its model. A regression of all makespans on
the kernels' total times does: makespans are nearly linear in these, as they double if all kernels
take twice as long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from tasksim.base.arrays import Floats

__all__ = [
    "MEMBERS",
    "Replicates",
    "ReplicationSummary",
    "components",
    "contributions",
    "position",
    "summary",
    "swings",
]

MEMBERS: Final = {1: ((0,),), 2: ((0, 0), (0, 1)), 3: ((0, 0, 0), (0, 0, 1), (0, 1, 0))}
"""Number of sources -> for each member of a group, the index of its draw per source."""
MIN_FREE_REPLICATIONS: Final = 20
"""Smallest number of replications beyond the coefficients for a regression: with fewer it fits
chance."""
SIGNIFICANCE_LEVEL: Final = 0.999
"""Confidence level at which the residual differences of groups are significant."""
BATCH_COUNT: Final = 10
"""Number of batches: their spread is known to a quarter, and each is still large enough for its own
quantiles."""


class Replicates(NamedTuple):
    """Results of replications.

    Parameters
    ----------
    makespans_s : ndarray, shape (groups, members)
        Makespans; members as in :data:`MEMBERS`.
    ratios : ndarray, shape (groups, members, kernels)
        Total time of each kernel's tasks divided by its expectation.
    alone_ratios : ndarray, shape (groups, members, kernels)
        The same without the slowdown by other programs.
    model_ratios : ndarray, shape (groups, kernels)
        The same with the group's model alone.
    """

    makespans_s: Floats
    ratios: Floats
    alone_ratios: Floats
    model_ratios: Floats

    def part(self, groups: slice) -> Replicates:
        """Return a part of the groups."""
        return Replicates(*(column[groups] for column in self))


class ReplicationSummary(NamedTuple):
    """Statistics of replications in seconds."""

    mean_s: float
    median_s: float
    mean_low_s: float
    mean_high_s: float
    run_low_s: float
    run_high_s: float


def summary(found: Replicates, level: float, *, models: bool) -> ReplicationSummary:
    """Return mean, median, and the intervals of the mean and of one run, at a *level*.

    The error of the mean has two sources: the *models*, if they were drawn, and the number of
    replications.
    """
    spans = found.makespans_s
    means = _group_means(spans)
    tails = (1 - level) / 2, (1 + level) / 2
    error = float(_student(level, len(means)) * means.std(ddof=1) / len(means) ** 0.5)
    center = float(means.mean())
    low = high = 0.0
    if models:
        # Positions (n + 1) level: one more draw is inside with this probability.
        low, high = np.quantile(_mean_draws(found), tails, method="weibull") - center
    run_low, run_high = np.quantile(spans, tails, method="weibull")
    return ReplicationSummary(
        mean_s=float(spans.mean()),
        median_s=float(np.median(spans)),
        mean_low_s=center - float(np.hypot(min(low, 0.0), error)),
        mean_high_s=center + float(np.hypot(max(high, 0.0), error)),
        run_low_s=float(run_low),
        run_high_s=float(run_high),
    )


def components(spans: Floats) -> list[float]:
    """Return the variance components of the sources, the outermost first, at least 0."""
    means = _group_means(spans)
    whole = float(means.var(ddof=1))
    members = spans.shape[1]
    if members == 1:
        return [whole]
    inner = float(((spans[:, 0] - spans[:, 1]) ** 2).mean() / 2)
    if members == 2:
        return [max(whole - inner / 2, 0.0), inner]
    apart = float(((spans[:, :2].mean(axis=1) - spans[:, 2]) ** 2).mean())
    middle = max((apart - 1.5 * inner) / 2, 0.0)
    return [max(whole - middle / 2 - 0.375 * inner, 0.0), middle, inner]


def contributions(found: Replicates) -> Floats:
    """Return the share of the makespans' variance that is explained by each kernel."""
    spans, slopes = found.makespans_s.ravel(), _slopes(found)
    variance = float(spans.var())
    if slopes is None or not variance:
        return np.zeros(found.ratios.shape[2])
    ratios = found.ratios.reshape(len(spans), -1)
    return np.asarray(
        slopes
        * ((ratios - ratios.mean(axis=0)).T @ (spans - spans.mean()))
        / (len(spans) * variance)
    )


def swings(found: Replicates) -> Floats:
    """Return the increase of the makespan, in seconds, with the duration of each kernel.

    It is the effect of one standard deviation of the kernel's mean in a run, with other kernels
    fixed.
    """
    slopes = _slopes(found)
    if slopes is None:
        return np.zeros(found.ratios.shape[2])
    return np.asarray(slopes * found.ratios.reshape(-1, len(slopes)).std(axis=0))


def position(spans: Floats, measured_s: float) -> float:
    """Return the share of runs that are shorter than *measured_s*, by replications.

    As in :func:`summary`, the k-th of n replications has the position k / (n + 1).

    >>> position(np.array([3.0, 1.0, 2.0]), 2.5)
    0.625
    """
    ordered = np.sort(spans, axis=None)
    places = np.arange(1, len(ordered) + 1) / (len(ordered) + 1)
    return float(np.interp(measured_s, ordered, places, left=0.0, right=1.0))


def errors(found: Replicates, level: float, *, models: bool) -> ReplicationSummary:
    """Return the error of each number of the summary, by batches.

    It is the half-width of the interval at *level*, from the spread of the batches.
    """
    size = len(found.makespans_s) // BATCH_COUNT
    if size < 2:
        return ReplicationSummary(*[float("inf")] * len(ReplicationSummary._fields))
    batches = [
        summary(found.part(slice(i * size, (i + 1) * size)), level, models=models)
        for i in range(BATCH_COUNT)
    ]
    spread = np.std(batches, axis=0, ddof=1) / BATCH_COUNT**0.5
    return ReplicationSummary(*(float(value) for value in _student(level, BATCH_COUNT) * spread))


def _group_means(spans: Floats) -> Floats:
    if spans.shape[1] < 3:
        return np.asarray(spans.mean(axis=1))
    return np.asarray((spans[:, :2].mean(axis=1) + spans[:, 2]) / 2)


def _slopes(found: Replicates) -> Floats | None:
    """Return the seconds that the makespan grows per unit of each kernel's ratio, or None."""
    spans = found.makespans_s.ravel()
    ratios = found.ratios.reshape(len(spans), -1)
    if len(spans) - ratios.shape[1] - 1 < MIN_FREE_REPLICATIONS:
        return None
    centered = ratios - ratios.mean(axis=0)
    return np.asarray(np.linalg.lstsq(centered, spans - spans.mean(), rcond=1e-9)[0])


def _mean_draws(found: Replicates) -> Floats:
    """Return the mean over runs and noise for the model of each group."""
    spans = found.makespans_s
    means = _group_means(spans)
    if spans.shape[1] == 1:
        return means
    slopes = _slopes(found)
    ratios = found.model_ratios
    fitted = 0.0 if slopes is None else (ratios - ratios.mean(axis=0)) @ slopes
    rest = means - means.mean() - fitted
    inner = components(spans)[1:]
    noise = inner[0] / 2 if len(inner) == 1 else inner[0] / 2 + 0.375 * inner[1]
    spread = float(rest.var(ddof=1))
    of_models = spread - noise
    if slopes is not None and noise:
        from scipy.stats import f

        # Groups that differ no more than noise explains have no models of their own.
        if not spread / noise > f.ppf(SIGNIFICANCE_LEVEL, len(rest) - 1, len(rest)):
            of_models = 0.0
    shrunk = (max(of_models, 0.0) / spread) ** 0.5 if spread else 0.0
    return np.asarray(means.mean() + fitted + shrunk * rest)


def _student(level: float, count: int) -> float:
    from scipy.stats import t

    return float(t.ppf((1 + level) / 2, count - 1))
