"""Interactions of two axes: joint effects on the makespan beyond the effects of each axis."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from tasksim.study.report.means import settled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.study.report.axes import Axis
    from tasksim.study.report.table import StudyTable

__all__ = ["Interaction", "interactions"]


@dataclass(frozen=True, eq=False)
class Interaction:
    """Makespans over two axes, averaged over all others.

    Parameters
    ----------
    first, second : Axis
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

    first: Axis
    second: Axis
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
    tasksim.study.report.sobol.sobol_indices : Total effect of each axis, with all interactions.

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
        if len(whole):
            found.append(_of_two(first, second, whole, len(slices)))
    return sorted(found, key=lambda interaction: -interaction.strength)


def _of_two(first: Axis, second: Axis, slices: NDArray[np.float64], of: int) -> Interaction:
    mean = slices.mean(axis=0)
    additive = mean.mean(axis=1, keepdims=True) + mean.mean(axis=0, keepdims=True) - mean.mean()
    strength = float(np.exp(np.sqrt(((mean - additive) ** 2).mean())))
    return Interaction(first, second, np.exp(mean - mean.min()), strength, len(slices), of)
