"""Quantiles, draws, means of groups and outliers of samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.base.arrays import Bools, Floats, Indices
    from tasksim.base.documents.json_document import JsonNode
    from tasksim.models.samples import Samples

__all__ = [
    "FENCE_WIDTH",
    "QUANTILE_LEVELS",
    "Draw",
    "checked_generator",
    "draw",
    "fence_of",
    "group_means",
    "group_medians",
    "group_quantiles",
    "inliers",
    "mean_of_quantiles",
    "merged_quantiles",
    "quantiles_of",
    "read_quantiles",
    "read_residuals",
    "residuals_to_json",
    "scattered",
    "within_fence",
]

QUANTILE_LEVELS: Final = (0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 1.0)
"""Levels of the stored quantiles; 0 and 1 are the extremes. The tails are denser: a barrier waits
for the slowest of many tasks."""

FENCE_WIDTH: Final = 3.0
"""Width of Tukey's "far out" fence, applied to logarithms: 0.01 % of 50 log-normal samples lie
beyond, and nearly all stalls. Applied to seconds, it would drop 0.02 % of samples that vary by 2 %
and 0.25 % at 30 %, all of them long: means would be too short by more than their uncertainty."""
MIN_FENCE_SAMPLES: Final = 8
"""Smallest group that the fence applies to. Quartiles of fewer samples are too uncertain: 3.3 % of
clean samples would be dropped from groups of 5, 0.7 % from 8, 0.3 % from 12."""

_QUANTILE_LEVELS: Final = np.array(QUANTILE_LEVELS)


def group_quantiles(
    values: Floats, groups: Indices, levels: tuple[float, ...] = QUANTILE_LEVELS
) -> Floats:
    """Return the quantiles of the *values* of each group, shape (groups, levels).

    *groups* are numbered from 0; no group may be empty. Quantiles between two values are
    interpolated linearly (method 7 of Hyndman and Fan, 1996, NumPy's default).

    >>> group_quantiles(np.array([3.0, 1.0, 2.0, 7.0]), np.array([0, 0, 0, 1]), (0.25,)).tolist()
    [[1.5], [7.0]]
    """
    ordered = values[np.lexsort((values, groups))]
    count = np.bincount(groups)
    start = np.cumsum(count) - count
    position = np.asarray(levels) * (count - 1)[:, None]
    below = np.floor(position).astype(np.intp)
    above = np.minimum(below + 1, (count - 1)[:, None])
    low, high = ordered[start[:, None] + below], ordered[start[:, None] + above]
    return np.asarray(low + (high - low) * (position - below))


def quantiles_of(values: Floats) -> Floats:
    """Return the quantiles of *values*, shape (levels,)."""
    return group_quantiles(values, np.zeros(len(values), dtype=np.intp)).ravel()


def within_fence(
    durations_s: Floats, groups: Indices | None = None, fence: float | None = FENCE_WIDTH
) -> Bools:
    """Return which durations are not outliers in their group.

    An outlier lies outside Tukey's fence of the logarithms, as the noise of durations is
    multiplicative: [Q1/r, Q3*r] with r = (Q3/Q1)**fence, where Q1 and Q3 are the quartiles of the
    group (Tukey, Exploratory Data Analysis, 1977, section 2D; 3 is his "far out"). On a shared
    machine, outliers are the tasks that lost their core for a while. Groups of fewer than 8, and
    groups whose quartiles coincide (the clock is too coarse), keep everything; so does
    ``fence=None``.

    >>> within_fence(np.array([1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 9.0])).tolist()[-2:]
    [True, False]
    """
    if fence is not None and not (isinstance(fence, int | float) and fence > 0):
        raise InputError(f"fence must be a positive number, or None to keep all, got {fence!r}")
    if fence is None or len(durations_s) == 0:
        return np.ones(len(durations_s), dtype=bool)
    if groups is None:
        groups = np.zeros(len(durations_s), dtype=np.intp)
    low, high = group_quantiles(durations_s, groups, (0.25, 0.75)).T
    low, high = _fence_around(low, high, fence, np.bincount(groups) >= MIN_FENCE_SAMPLES)
    return np.asarray((durations_s >= low[groups]) & (durations_s <= high[groups]))


def fence_of(quantiles: Floats, fence: float | None) -> tuple[Floats, Floats]:
    """Return the bounds of Tukey's fence around distributions with these *quantiles*.

    They are 0 and infinite where quartiles coincide, and without a *fence*.
    """
    low, high = (
        quantiles[..., QUANTILE_LEVELS.index(0.25)],
        quantiles[..., QUANTILE_LEVELS.index(0.75)],
    )
    return _fence_around(low, high, fence, np.full(np.shape(low), fence is not None))


def _fence_around(
    low: Floats, high: Floats, fence: float | None, known: Bools
) -> tuple[Floats, Floats]:
    """Return the bounds around these quartiles; 0 and infinity where they are not *known*."""
    reach = np.full(np.shape(low), np.inf)
    with np.errstate(over="ignore"):  # an infinite reach keeps everything
        np.power(high / low, fence or 0.0, out=reach, where=known & (high > low) & (low > 0))
        return np.asarray(low / reach), np.asarray(high * reach)


def draw(quantiles: Floats, rows: Indices, rng: np.random.Generator) -> Floats:
    """Return a random value for each of *rows*, from the distribution of that row.

    The distribution function is linear between the *quantiles*, shape (rows, levels). Values
    are drawn by inverting it; each row takes one uniform variate, in order.
    """
    uniform = rng.random(len(rows))
    segment = np.searchsorted(_QUANTILE_LEVELS, uniform, side="right") - 1
    share = (uniform - _QUANTILE_LEVELS[segment]) / (
        _QUANTILE_LEVELS[segment + 1] - _QUANTILE_LEVELS[segment]
    )
    low, high = quantiles[rows, segment], quantiles[rows, segment + 1]
    return np.asarray(low + share * (high - low))


def mean_of_quantiles(quantiles: Floats) -> Floats:
    """Return the means of the distributions that :func:`draw` draws from."""
    middles = (quantiles[..., 1:] + quantiles[..., :-1]) / 2
    means: Floats = middles @ np.diff(_QUANTILE_LEVELS)
    return means


MAX_MERGED_POINTS: Final = 1000
"""Maximum number of points that stand for the samples of earlier quantiles: the 99 % one then lies
between the tenth and the eleventh largest."""


def merged_quantiles(quantiles: Floats, count: int, more: Floats, more_count: int) -> Floats:
    """Return the quantiles of *count* samples and *more_count* others, from those of each.

    Each distribution is that of :func:`draw`, linear between its quantiles.

    >>> one, three = np.full(11, 1.0), np.full(11, 3.0)
    >>> merged_quantiles(one, 2, three, 3)[[0, 4, 5, 10]].tolist()
    [1.0, 1.0, 3.0, 3.0]
    """
    points, weights = [], []
    for found, of in ((quantiles, count), (more, more_count)):
        number = min(max(of, 1), MAX_MERGED_POINTS)
        levels = np.linspace(0, 1, number) if number > 1 else np.array([0.5])
        points.append(np.interp(levels, _QUANTILE_LEVELS, found))
        weights.append(np.full(number, max(of, 1) / number))
    values, weight = np.concatenate(points), np.concatenate(weights)
    order = np.argsort(values, kind="stable")
    # Positions of equal weights are those of method 7, as in group_quantiles.
    steps = (weight[order][1:] + weight[order][:-1]) / 2
    position = np.concatenate([[0.0], np.cumsum(steps)])
    return np.asarray(np.interp(_QUANTILE_LEVELS * position[-1], position, values[order]))


def read_quantiles(node: JsonNode) -> Floats:
    """Read the quantiles of a JSON document: one per level, positive, ascending."""
    quantiles = node.vector(len(QUANTILE_LEVELS))
    if quantiles[0] <= 0 or (np.diff(quantiles) < 0).any():
        raise node.expected("positive numbers in ascending order")
    return quantiles


def residuals_to_json(quantiles: Floats) -> dict[str, Any]:
    """Return the entries of a model with the *quantiles* of its ratios measured / predicted."""
    return {"quantile_levels": QUANTILE_LEVELS, "residual_quantiles": quantiles}


def read_residuals(node: JsonNode) -> Floats:
    """Read what :func:`residuals_to_json` returned."""
    node["quantile_levels"].exactly(list(QUANTILE_LEVELS))
    return read_quantiles(node["residual_quantiles"])


def group_means(values: Floats, groups: Indices) -> Floats:
    """Return the mean of the *values* of each group; no group may be empty."""
    return np.asarray(np.bincount(groups, weights=values) / np.bincount(groups))


def group_medians(values: Floats, groups: Indices) -> Floats:
    """Return the median of the *values* of each group; no group may be empty."""
    return group_quantiles(values, groups, (0.5,))[:, 0]


MIN_RUNS: Final = 5
"""Smallest number of runs whose median is meaningful: two runs can move the median of fewer. With
fewer, only the fence decides."""


def inliers(samples: Samples, groups: Indices, fence: float | None) -> Bools:
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
    usual: Bools = (excess > 0) & (excess <= np.median(worst))
    return kept | usual


Draw: TypeAlias = "Callable[[np.random.Generator], Floats]"
"""A function that draws a duration for each row, in seconds."""


def scattered(predicted_s: Floats, ratios: Floats) -> Draw:
    """Return a sampler around predictions, from quantiles of the *ratios* measured / predicted."""
    quantiles, only = ratios[None, :], np.zeros(len(predicted_s), dtype=np.intp)
    # Dividing by the mean keeps the mean of the draws at the prediction.
    mean = mean_of_quantiles(quantiles)
    return lambda rng: predicted_s * (draw(quantiles, only, rng) / mean)


def checked_generator(rng: object) -> np.random.Generator:
    """Return *rng* if it is a NumPy generator; raise :exc:`InputError` otherwise."""
    if not isinstance(rng, np.random.Generator):
        raise InputError(f"rng must be a numpy.random.Generator, got {type(rng).__name__}")
    return rng
