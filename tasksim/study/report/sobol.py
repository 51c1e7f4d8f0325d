"""Sobol' indices of a full grid: the share of the makespans' variance that each axis explains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import InputError
from tasksim.study.report.means import settled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.study.report.means import SettledMeans
    from tasksim.study.report.table import StudyTable

__all__ = ["SobolIndex", "sobol_indices"]


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
    grid = _grid(means)
    variance = float(grid.var())
    found = [_index(axis.name, grid, place, variance) for place, axis in enumerate(means.axes)]
    return sorted(found, key=lambda index: -index.total)


def _grid(means: SettledMeans) -> NDArray[np.float64]:
    grid = np.empty([len(axis) for axis in means.axes])
    grid[tuple(means.codes.T)] = means.log_s
    return grid


def _index(name: str, grid: NDArray[np.float64], place: int, variance: float) -> SobolIndex:
    if variance == 0.0:
        return SobolIndex(name, 0.0, 0.0)
    others = tuple(number for number in range(grid.ndim) if number != place)
    alone = float(grid.mean(axis=others).var()) / variance
    rest = float(grid.mean(axis=place).var()) / variance
    return SobolIndex(name, min(max(alone, 0.0), 1.0), min(max(1.0 - rest, 0.0), 1.0))
