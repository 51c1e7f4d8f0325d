"""Sensitivity of the makespan to each axis, one at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tasksim.study.report.means import settled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.study.report.axes import Axis
    from tasksim.study.report.table import StudyTable

__all__ = ["Sensitivity", "sensitivities"]


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
    tasksim.study.report.sobol.sobol_indices : Shares of variance, interactions included.

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


def _along(axis: Axis, slices: NDArray[np.float64]) -> Sensitivity:
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


def _slopes(axis: Axis, slices: NDArray[np.float64]) -> NDArray[np.float64]:
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
