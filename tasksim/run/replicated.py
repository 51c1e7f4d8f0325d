"""Replicated makespans: their mean, one of them, and where their spread comes from.

A group of replications shares what is drawn first, a model; within it some share what comes next, a
run; the noise of tasks is each one's own. With three such sources a group has three members, of
which two share the run: a staggered nested design, which spends no more on the inner sources than
on the outer ones (T. R. Bainbridge, "Staggered, nested designs for estimating variance components",
Industrial Quality Control 22, 1965).

What the mean over runs would be for a drawn model, a group of three does not tell. A regression of
all makespans on what kernels took in them does: makespans are nearly linear in these, since all
kernels twice as long make them twice as long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

__all__ = [
    "MEMBERS",
    "Replicates",
    "Summary",
    "components",
    "contributions",
    "position",
    "summary",
    "swings",
]

MEMBERS: Final = {1: ((0,),), 2: ((0, 0), (0, 1)), 3: ((0, 0, 0), (0, 0, 1), (0, 1, 0))}
"""By how many sources there are, of each member of a group which draw of each source it has."""
FREE: Final = 20
"""Replications beyond the coefficients, without which a regression fits chance."""
SURE: Final = 0.999
"""What a regression leaves of groups counts as theirs if chance leaves less so often."""
BATCHES: Final = 10
"""Their spread is known to a quarter, and each is still long enough for its own quantiles."""


class Replicates(NamedTuple):
    """What came out of replications.

    Parameters
    ----------
    makespans_s : ndarray, shape (groups, members)
        Members as in :data:`MEMBERS`.
    ratios : ndarray, shape (groups, members, kernels)
        What the tasks of each kernel took, over what is expected.
    model_ratios : ndarray, shape (groups, kernels)
        The same of the group's model alone.
    """

    makespans_s: Array
    ratios: Array
    model_ratios: Array

    def part(self, groups: slice) -> Replicates:
        """Return some of the groups."""
        return Replicates(*(column[groups] for column in self))


class Summary(NamedTuple):
    """What replications say, in seconds."""

    mean_s: float
    median_s: float
    mean_low_s: float
    mean_high_s: float
    run_low_s: float
    run_high_s: float


def summary(found: Replicates, level: float, *, models: bool) -> Summary:
    """Return mean and median, the interval of the mean, and that of one run, at a *level*.

    The mean is uncertain by the *models*, if they were drawn, and by how few replications there
    are; without models by the latter alone.
    """
    spans = found.makespans_s
    means = _group_means(spans)
    tails = (1 - level) / 2, (1 + level) / 2
    error = float(_student(level, len(means)) * means.std(ddof=1) / len(means) ** 0.5)
    center = float(means.mean())
    low = high = 0.0
    if models:
        # The positions (n + 1)·level: of one more draw the share that is inside is the level.
        low, high = np.quantile(_mean_draws(found), tails, method="weibull") - center
    run_low, run_high = np.quantile(spans, tails, method="weibull")
    return Summary(
        mean_s=float(spans.mean()),
        median_s=float(np.median(spans)),
        mean_low_s=center - float(np.hypot(min(low, 0.0), error)),
        mean_high_s=center + float(np.hypot(max(high, 0.0), error)),
        run_low_s=float(run_low),
        run_high_s=float(run_high),
    )


def components(spans: Array) -> list[float]:
    """Return the variances that the sources cause, the outermost first, not below 0."""
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


def contributions(found: Replicates) -> Array:
    """Return which share of the variance of makespans goes along with what each kernel takes."""
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


def swings(found: Replicates) -> Array:
    """Return how much longer, in seconds, a makespan is where a kernel's tasks are.

    Where they take one standard deviation longer, in the mean of a run, and other kernels do not.
    """
    slopes = _slopes(found)
    if slopes is None:
        return np.zeros(found.ratios.shape[2])
    return np.asarray(slopes * found.ratios.reshape(-1, len(slopes)).std(axis=0))


def position(spans: Array, measured_s: float) -> float:
    """Return which share of runs is shorter than one *measured*, by replications of it.

    As in :func:`summary`, of n replications the k-th has the position k / (n + 1).

    >>> position(np.array([3.0, 1.0, 2.0]), 2.5)
    0.625
    """
    ordered = np.sort(spans, axis=None)
    places = np.arange(1, len(ordered) + 1) / (len(ordered) + 1)
    return float(np.interp(measured_s, ordered, places, left=0.0, right=1.0))


def errors(found: Replicates, level: float, *, models: bool) -> Summary:
    """Return how far each number of the summary may be off, by the means of batches.

    Half the width of the interval at the *level* that the spread of batches says.
    """
    size = len(found.makespans_s) // BATCHES
    if size < 2:
        return Summary(*[float("inf")] * len(Summary._fields))
    batches = [
        summary(found.part(slice(i * size, (i + 1) * size)), level, models=models)
        for i in range(BATCHES)
    ]
    spread = np.std(batches, axis=0, ddof=1) / BATCHES**0.5
    return Summary(*(float(value) for value in _student(level, BATCHES) * spread))


def _group_means(spans: Array) -> Array:
    if spans.shape[1] < 3:
        return np.asarray(spans.mean(axis=1))
    return np.asarray((spans[:, :2].mean(axis=1) + spans[:, 2]) / 2)


def _slopes(found: Replicates) -> Array | None:
    """Return how many seconds the makespan grows with the ratio of each kernel; None: unknown."""
    spans = found.makespans_s.ravel()
    ratios = found.ratios.reshape(len(spans), -1)
    if len(spans) - ratios.shape[1] - 1 < FREE:
        return None
    centered = ratios - ratios.mean(axis=0)
    return np.asarray(np.linalg.lstsq(centered, spans - spans.mean(), rcond=1e-9)[0])


def _mean_draws(found: Replicates) -> Array:
    """Return what the mean over runs and noise would be for the model of each group."""
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
    of_models = float(rest.var(ddof=1)) - noise
    if slopes is not None and not _significant(rest, noise):
        of_models = 0.0
    spread = float(rest.var(ddof=1))
    shrunk = (max(of_models, 0.0) / spread) ** 0.5 if spread else 0.0
    return np.asarray(means.mean() + fitted + shrunk * rest)


def _significant(rest: Array, noise: float) -> bool:
    """Return whether groups differ by more than noise alone makes them."""
    from scipy.stats import f

    if not noise:
        return True
    return bool(rest.var(ddof=1) / noise > f.ppf(SURE, len(rest) - 1, len(rest)))


def _student(level: float, count: int) -> float:
    from scipy.stats import t

    return float(t.ppf((1 + level) / 2, count - 1))
