"""Sensitivity of the makespan to single axes and to pairs of axes.

Elasticities and swings along one axis, exact Sobol' indices of the full grid, and interactions of
two axes: joint effects beyond the effects of each axis. All are computed from means over seeds.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.study.report.axes import StudyAxis
    from tasksim.study.report.table import StudyTable

__all__ = [
    "Interaction",
    "Sensitivity",
    "SobolIndex",
    "interactions",
    "sensitivities",
    "sobol_indices",
]


@dataclass(frozen=True, eq=False)
class SettledMeans:
    """Mean ln(makespan) over seeds at each point of the grid that has a makespan.

    Parameters
    ----------
    axes : tuple of StudyAxis
        All axes except the seed.
    codes : array of int, (points, axes)
        Index of each point's value on each axis.
    log_s : array of float, (points,)
        Means of ln(makespan).
    """

    axes: tuple[StudyAxis, ...]
    codes: NDArray[np.int64]
    log_s: NDArray[np.float64]

    @property
    def grid_size(self) -> int:
        """Number of points of the grid, including points without makespans."""
        # As floats, which do not overflow for many axes.
        return int(np.prod([len(axis) for axis in self.axes], dtype=float))

    def slices(self, *names: str) -> NDArray[np.float64]:
        """Return the means along the axes *names*, one row per combination of the other axes.

        The shape is (rows, values of the first of *names*, values of the second, ...); missing
        points are NaN.
        """
        all_names = [axis.name for axis in self.axes]
        places = [all_names.index(name) for name in names]
        others = np.delete(self.codes, places, axis=1)
        count, row = 1, np.zeros(len(self.codes), dtype=np.int64)
        if others.shape[1]:
            unique, row = np.unique(others, axis=0, return_inverse=True)
            count, row = len(unique), row.reshape(-1)
        found = np.full((count, *(len(self.axes[place]) for place in places)), np.nan)
        found[(row, *(self.codes[:, place] for place in places))] = self.log_s
        return found


def settled(table: StudyTable) -> SettledMeans:
    """Return the means over seeds of the makespans of *table*."""
    axes = tuple(axis for axis in table.axes if axis.name != "seed")
    rows = table.used
    columns = []
    for axis in axes:
        place = {value: number for number, value in enumerate(axis.values)}
        columns.append(rows[axis.name].map(place).to_numpy(dtype=np.int64))
    all_codes = np.stack(columns, axis=1) if columns else np.zeros((len(rows), 0), dtype=np.int64)
    if not columns or not len(rows):
        mean = np.log(rows["makespan_s"].to_numpy()).mean(keepdims=True) if len(rows) else []
        return SettledMeans(axes, all_codes[: len(mean)], np.asarray(mean, dtype=float))
    codes, point = np.unique(all_codes, axis=0, return_inverse=True)
    point = point.reshape(-1)
    counts = np.bincount(point)
    sums = np.bincount(point, weights=np.log(rows["makespan_s"].to_numpy()))
    return SettledMeans(axes, codes, sums / counts)


@dataclass(frozen=True)
class Sensitivity:
    """Sensitivity of the makespan to one axis, with all others fixed.

    Parameters
    ----------
    axis : str
    swing, largest_swing : float
        Ratio of the longest to the shortest makespan along the axis: geometric mean and maximum
        over all combinations of the other axes.
    slices : int
        Number of combinations of the other axes that have two or more values of the axis.
    elasticity, low, high : float or None
        Growth of the makespan in percent if the setting grows by one percent, between neighbours on
        the grid: mean, smallest, largest. None if the setting is not a positive number.

    See Also
    --------
    sensitivities : Compute the sensitivities to all axes.
    """

    axis: str
    swing: float
    largest_swing: float
    slices: int
    elasticity: float | None = None
    low: float | None = None
    high: float | None = None


def sensitivities(table: StudyTable) -> list[Sensitivity]:
    """Return the sensitivity of the makespan to each axis, the largest first.

    Parameters
    ----------
    table : StudyTable

    Returns
    -------
    list of Sensitivity
        Sensitivities of the means over seeds. If there are several seeds, ``seed`` comes last: the
        effect of chance.

    See Also
    --------
    sobol_indices : Shares of variance, interactions included.

    Notes
    -----
    A swing depends on the range of the axis in the study: a wide range has a large swing.
    Elasticities do not depend on ranges. They are ln(T2 / T1) / ln(x2 / x1) of neighbours.
    """
    axes = [axis for axis in table.axes if axis.name != "seed"]
    means = settled(table)
    found = [_along(axis, means.slices(axis.name)) for axis in axes]
    ranked = sorted((s for s in found if s.slices), key=lambda s: -s.swing)
    noise = _of_seeds(table)
    return ranked if noise is None else [*ranked, noise]


def _along(axis: StudyAxis, slices: NDArray[np.float64]) -> Sensitivity:
    """Return the sensitivity to *axis*, whose values are the columns of *slices*."""
    several = slices[np.isfinite(slices).sum(axis=1) > 1]
    if not len(several):
        return Sensitivity(axis.name, 1.0, 1.0, 0)
    ranges = np.nanmax(several, axis=1) - np.nanmin(several, axis=1)
    slopes = _slopes(axis, several)
    known = (slopes.mean(), slopes.min(), slopes.max()) if len(slopes) else (None, None, None)
    return Sensitivity(
        axis.name,
        float(np.exp(ranges.mean())),
        float(np.exp(ranges.max())),
        len(several),
        *(None if value is None else float(value) for value in known),
    )


def _slopes(axis: StudyAxis, slices: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the elasticities between neighbouring points with makespans, in all *slices*."""
    if not axis.is_numeric:
        return np.empty(0)
    x = np.asarray(axis.numbers)
    usable = np.isfinite(x) & (x > 0)
    x, slices = np.log(x[usable]), slices[:, usable]
    found = []
    for line in slices:
        known = np.isfinite(line)
        steps = np.diff(x[known])
        found.append((np.diff(line[known])[steps > 0]) / steps[steps > 0])
    return np.concatenate(found) if found else np.empty(0)


def _of_seeds(table: StudyTable) -> Sensitivity | None:
    rows = table.used
    keys = [axis.name for axis in table.axes if axis.name != "seed"]
    logs = np.log(rows["makespan_s"]).groupby([rows[key] for key in keys] or rows["status"])
    ranges = (logs.max() - logs.min())[logs.size() > 1].to_numpy()
    if not len(ranges):
        return None
    return Sensitivity(
        "seed", float(np.exp(ranges.mean())), float(np.exp(ranges.max())), len(ranges)
    )


@dataclass(frozen=True, eq=False)
class Interaction:
    """Makespans over two axes, averaged over all others.

    Parameters
    ----------
    first, second : StudyAxis
    relative : array of float, (values of first, values of second)
        Geometric mean of makespans over the shortest one.
    strength : float
        Typical factor between a makespan and its prediction from the two axes one by one; 1 if the
        effect of one axis is the same at all values of the other.
    slices, all_slices : int
        Number of combinations of the other axes' values that have all combinations of these two
        axes, and number of all combinations; only the former are averaged.

    See Also
    --------
    interactions : Compute the interactions of all pairs of axes.
    """

    first: StudyAxis
    second: StudyAxis
    relative: NDArray[np.float64]
    strength: float
    slices: int
    all_slices: int


def interactions(table: StudyTable) -> list[Interaction]:
    """Return the interactions of all pairs of axes, the strongest first.

    Parameters
    ----------
    table : StudyTable

    Returns
    -------
    list of Interaction
        The interactions. Two axes that never have all their combinations are left out: each field
        would be a mean over different combinations of the other axes.

    See Also
    --------
    sobol_indices : Total effect of each axis, with all interactions.

    Notes
    -----
    The strength is exp of the root mean square residual of an additive fit to the logarithms, as in
    an analysis of variance with two factors.
    """
    means = settled(table)
    found = []
    for first, second in combinations(means.axes, 2):
        slices = means.slices(first.name, second.name)
        whole = slices[np.isfinite(slices).all(axis=(1, 2))]
        if not len(whole):
            continue
        mean = whole.mean(axis=0)
        additive = mean.mean(axis=1, keepdims=True) + mean.mean(axis=0, keepdims=True) - mean.mean()
        strength = float(np.exp(np.sqrt(((mean - additive) ** 2).mean())))
        relative = np.exp(mean - mean.min())
        found.append(Interaction(first, second, relative, strength, len(whole), len(slices)))
    return sorted(found, key=lambda interaction: -interaction.strength)


@dataclass(frozen=True)
class SobolIndex:
    """Share of the variance that an axis explains.

    Parameters
    ----------
    axis : str
    first : float
        Share of the axis alone: the variance that disappears if the axis is known.
    total : float
        Share with all interactions: the variance that remains if all other axes are known.

    See Also
    --------
    sobol_indices : Compute the indices of all axes.
    """

    axis: str
    first: float
    total: float


def sobol_indices(table: StudyTable) -> list[SobolIndex]:
    """Return the Sobol' indices of ln(makespan), the largest total first.

    The indices are exact for the grid of the study, if all values of an axis are equally probable:
    nothing is sampled or simulated again. They are indices of the means over seeds, which average
    out chance.

    Parameters
    ----------
    table : StudyTable
        Table of a full grid.

    Returns
    -------
    list of SobolIndex
        One index per axis except the seed; all are 0 if makespans do not vary.

    Raises
    ------
    InputError
        If there is no axis, or if points of the grid are missing: the axes would not be
        independent.

    See Also
    --------
    tasksim.study.report.sensitivity.sensitivities : Sensitivities, which need no full grid.

    Notes
    -----
    I. M. Sobol', "Global sensitivity indices for nonlinear mathematical models and their Monte
    Carlo estimates", Mathematics and Computers in Simulation 55 (2001), pp. 271-280: S_i =
    V(E(Y | x_i)) / V(Y), and S_Ti = 1 - V(E(Y | all but x_i)) / V(Y), with sums over the grid
    instead of integrals.
    """
    means = settled(table)
    if not means.axes:
        raise InputError("Sobol' indices: the study varies nothing but seeds")
    lacking = means.grid_size - len(means.log_s)
    if lacking:
        raise InputError(
            f"Sobol' indices: {lacking:,} of the {means.grid_size:,} combinations of "
            f"{', '.join(axis.name for axis in means.axes)} have no makespan, but the indices need "
            "a full grid; finish the study, or run one without 'where:'"
        )
    grid = np.empty([len(axis) for axis in means.axes])
    grid[tuple(means.codes.T)] = means.log_s
    variance = float(grid.var())
    if variance == 0.0:
        return [SobolIndex(axis.name, 0.0, 0.0) for axis in means.axes]
    found = []
    for place, axis in enumerate(means.axes):
        others = tuple(number for number in range(grid.ndim) if number != place)
        alone = float(grid.mean(axis=others).var()) / variance
        total = 1.0 - float(grid.mean(axis=place).var()) / variance
        found.append(SobolIndex(axis.name, *(min(max(s, 0.0), 1.0) for s in (alone, total))))
    return sorted(found, key=lambda index: -index.total)
