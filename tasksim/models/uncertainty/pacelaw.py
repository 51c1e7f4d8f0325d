"""Law of the pace: how slow whole runs are on a machine that works at some pace.

Before each of its runs a calibration takes the pace of the machine (:mod:`tasksim.native.pace`).
How much longer the tasks of a run took than the models say, ln(measured / predicted) of their sums,
is a line over the logarithm of the pace. What the line leaves is no noise of one size: on a machine
where others come and go, a run after a fast probe is fast or meets them, one after a slow probe is
slow or they are gone. So a run is predicted by the forty before which the machine worked like
before it: as fast, and as restless, which is how far apart the last few paces were. Where no pace
was seen the line goes on in proportion, and is doubted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, Self

import numpy as np

from tasksim.models.uncertainty.atpace import MANY_RUNS, AtPace
from tasksim.models.uncertainty.byduration import parts_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tasksim.models.kernelmodel import KernelModel
    from tasksim.models.samples import Samples

    Array = NDArray[np.float64]

__all__ = ["MIN_RUNS", "RECENT", "Level", "PaceLaw", "Slowness", "levels_of", "slowness_of"]

MIN_RUNS: Final = 12
"""Runs without which there is no law: of fewer, four blocks have two runs each and less."""
RECENT: Final = 5
"""Paces that say how restless a machine is. Of runs that were calibrated after the others, 89 to
90 % of those in restless moments are inside 95 % with 3, 5 and 8 of them, 84 % without."""
TINY: Final = 1e-12
"""Paces that are all the same have no slope."""
ROBUST: Final = 5
"""Rounds of reweighting, after which weights do not move any more."""
HUBER: Final = 1.345
"""In deviations: what is further off counts no more than that (Huber's M-estimator)."""
PROPORTION: Final = 1.0
"""Beyond the paces that were seen: half the pace, twice the time."""
BEYOND: Final = 0.5
"""Deviation of the logarithm, by that of how far the pace is beyond: what made the probe slow may
be gone at once, or stay for the whole run; both are then within two deviations."""
EDGES: Final = (0.1, 0.9)
"""Paces beyond these quantiles of the forty nearest are beyond what was seen: a single run further
out says little."""
LEAST_EACH: Final = 150
"""Tasks of about one duration, whose sum a stall of one of them does not make."""
MOST_PARTS: Final = 4
"""Short ones, long ones, and two in between."""
LEAST_KEPT: Final = 0.25
"""What is left of the variance of runs at least, when that of their tasks is taken out."""


class Level(NamedTuple):
    """How much longer tasks of a kernel take altogether than its model says.

    Parameters
    ----------
    expected_s : ndarray
        Durations that the model says, ascending.
    logs : ndarray
        At each the logarithm of how many times as long tasks take.
    """

    expected_s: Array
    logs: Array

    def __call__(self, expected_s: Array) -> Array:
        """Return it for tasks of some expected durations."""
        return np.interp(np.log(expected_s), np.log(self.expected_s), self.logs)


class Slowness(NamedTuple):
    """How slow each run of a calibration was, in order of time.

    Parameters
    ----------
    pace_s : ndarray
        The pace just before it.
    slow : ndarray
        The logarithm of what its tasks took over what models say.
    noise : ndarray
        The variance that its tasks' own noise gives that.
    """

    pace_s: Array
    slow: Array
    noise: Array


@dataclass(frozen=True, eq=False)
class PaceLaw:
    """How slow runs are at some pace.

    Attributes
    ----------
    level, slope
        Of the line over the logarithm of the pace, over that of *center_s*.
    center_s
        The pace in the middle.
    slope_doubt
        The deviation of the slope.
    runs
        What it is from, in order of time.
    left
        What the line leaves of each.
    restless
        How restless the machine was before each.
    levels
        Of each kernel.
    """

    level: float
    slope: float
    center_s: float
    slope_doubt: float
    runs: Slowness
    left: Array
    restless: Array
    levels: Mapping[str, Level]

    @classmethod
    def of(cls, runs: Slowness, levels: Mapping[str, Level]) -> Self | None:
        """Return what *runs* say, kernels having these *levels*; None if they are too few."""
        if len(runs.slow) < MIN_RUNS:
            return None
        logs = np.log(runs.pace_s)
        center = float(np.median(logs))
        level, slope = _line(logs - center, runs.slow)
        left = runs.slow - level - slope * (logs - center)
        left = left * (len(left) / (len(left) - 2)) ** 0.5  # two numbers are fitted
        squares = float(((logs - logs.mean()) ** 2).sum())
        return cls(
            level=level,
            slope=slope,
            center_s=float(np.exp(center)),
            slope_doubt=float(left.std()) / squares**0.5 if squares > TINY else 0.0,
            runs=runs,
            left=left,
            restless=_restless(logs),
            levels=levels,
        )

    def at(self, paces_s: Sequence[float]) -> AtPace:
        """Return how slow a run is after these paces, the latest last.

        Of one pace alone nobody knows how restless the machine is; runs after paces like it count.
        """
        logs, pace = np.log(self.runs.pace_s), float(np.log(paces_s[-1]))
        near = self._near(pace, paces_s)
        low, high = np.quantile(logs[near], EDGES)
        seen = float(np.clip(pace, low, high))
        apart = seen - float(logs[near].mean())
        level = self.level + self.slope * (seen - np.log(self.center_s))
        return AtPace.of(
            float(level + PROPORTION * (pace - seen)),
            self._less_noise(self.left[near], near),
            self.slope_doubt * apart,
            BEYOND * (pace - seen),
        )

    def at_any(self) -> AtPace:
        """Return how slow a run is at no pace in particular: as any of them were, calm or busy."""
        slow = float(np.median(self.runs.slow))
        return AtPace.of(slow, self._less_noise(self.runs.slow - slow, slice(None)))

    def of_kernel(self, kernel: str, expected_s: Array) -> Array:
        """Return what tasks of a kernel take at the pace in the middle, its model saying so."""
        level = self.levels.get(kernel)
        return expected_s if level is None else expected_s * np.exp(level(expected_s))

    def _near(self, pace: float, paces_s: Sequence[float]) -> NDArray[np.intp]:
        """Return the runs before which the machine worked most like that, in order of time."""
        distance = np.log(self.runs.pace_s) - pace
        if len(paces_s) > 1:
            restless = _restless(np.log(paces_s[-RECENT:]))[-1]
            distance = np.hypot(distance, self.restless - restless)
        return np.sort(np.argsort(np.abs(distance), kind="stable")[:MANY_RUNS])

    def _less_noise(self, left: Array, of: NDArray[np.intp] | slice) -> Array:
        """Return what is *left* of some runs, less what the noise of tasks makes of it.

        That is drawn for each task: here it would count twice.
        """
        middle, variance = float(np.median(left)), float(left.var())
        noise = float(self.runs.noise[of].mean())
        kept = max(1 - noise / variance, LEAST_KEPT) if variance else 1.0
        return np.asarray(middle + kept**0.5 * (left - middle))


def _restless(logs: Array) -> Array:
    """Return by which factor the last paces before each run differed, itself among them, as logs.

    Of the first ones fewer tell.
    """
    before = [logs[max(end - RECENT, 0) : end] for end in range(1, len(logs) + 1)]
    return np.array([np.ptp(paces) for paces in before])


def _line(x: Array, y: Array) -> tuple[float, float]:
    """Return level and slope, which a few stalled runs hardly move; no slope is negative."""
    weights, level, slope = np.ones(len(x)), float(np.median(y)), 0.0
    for _ in range(ROBUST):
        mean_x, mean_y = np.average(x, weights=weights), np.average(y, weights=weights)
        squares = float(weights @ (x - mean_x) ** 2)
        product = float(weights @ ((x - mean_x) * (y - mean_y)))
        slope = max(product / squares, 0.0) if squares else 0.0
        level = float(mean_y - slope * mean_x)
        off = np.abs(y - level - slope * x)
        scale = HUBER * max(float(np.median(off)) / 0.6745, 1e-9)  # the median of a normal's size
        weights = scale / np.maximum(off, scale)
    return level, slope


def levels_of(
    samples: Mapping[str, Samples], models: Mapping[str, KernelModel], paces: Mapping[int, float]
) -> dict[str, Level]:
    """Return of each kernel how much longer its tasks take altogether than its model says.

    Models leave out what happens in few runs, and fit what is typical; a run has all of it. It is
    said for a machine that works at the pace in the middle, by duration where there are enough
    tasks: what others take from a core is in few of the short ones, and in each of the long.
    """
    of_run = _over_center(paces)
    found = {}
    for kernel in sorted(samples.keys() & models.keys()):
        mine = _with_pace(samples[kernel], of_run)
        if not len(mine):
            continue
        expected = models[kernel].predict(mine.parameters)
        found[kernel] = _level(expected, mine.durations_s / of_run[_numbers(mine)])
    return found


def slowness_of(
    samples: Mapping[str, Samples],
    models: Mapping[str, KernelModel],
    levels: Mapping[str, Level],
    paces: Mapping[int, float],
) -> dict[int, tuple[float, float, float]]:
    """Return of each run whose pace is known the pace, how slow it was, and the noise of that.

    Parameters
    ----------
    samples, models : mapping
        By kernel; runs have the same numbers in all.
    levels : mapping
        Of each kernel, from the same.
    paces : mapping
        Run -> its pace.
    """
    of_run = _over_center(paces)
    size = len(of_run)
    taken, predicted, squares = np.zeros(size), np.zeros(size), np.zeros(size)
    for kernel in sorted(samples.keys() & models.keys() & levels.keys()):
        mine = _with_pace(samples[kernel], of_run)
        expected = models[kernel].predict(mine.parameters)
        expected = expected * np.exp(levels[kernel](expected))
        runs = _numbers(mine)
        sums = np.bincount(runs, mine.durations_s, size)
        wanted = np.bincount(runs, expected, size)
        level = np.divide(sums, wanted, out=np.ones(size), where=wanted > 0)
        usual = level[runs] * expected
        # A task that stalls is no noise of tasks: models of these leave it out.
        squares += np.bincount(runs, np.minimum(mine.durations_s - usual, usual) ** 2, size)
        taken, predicted = taken + sums, predicted + wanted
    return {
        run: (
            pace,
            float(np.log(taken[run] / predicted[run])),
            float(squares[run] / taken[run] ** 2),
        )
        for run, pace in sorted(paces.items())
        if predicted[run] > 0 and taken[run] > 0
    }


def _over_center(paces: Mapping[int, float]) -> Array:
    """Return the pace of each run over that in the middle, by its number; NaN where unknown."""
    found = np.full(max(paces, default=-1) + 1, np.nan)
    for run, pace in paces.items():
        found[run] = pace
    return np.asarray(found / np.nanmedian(found)) if paces else found


def _with_pace(samples: Samples, of_run: Array) -> Samples:
    """Return the samples of runs whose pace is known."""
    runs = _numbers(samples)
    known = (runs >= 0) & (runs < len(of_run))
    known[known] = np.isfinite(of_run[runs[known]])
    return samples.select(known)


def _numbers(samples: Samples) -> NDArray[np.int64]:
    return np.full(len(samples), -1) if samples.runs is None else samples.runs


def _level(expected: Array, taken: Array) -> Level:
    parts = parts_of(expected, LEAST_EACH, MOST_PARTS)
    centers = [float(np.exp(np.log(expected[part]).mean())) for part in parts]
    logs = [float(np.log(taken[part].sum() / expected[part].sum())) for part in parts]
    return Level(np.array(centers), np.array(logs))
