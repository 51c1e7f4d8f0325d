"""Interactions: what two axes do together that neither does by itself."""

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
    """Makespans over two axes, all else averaged.

    Parameters
    ----------
    first, second : Axis
    relative : array of float, (values of first, values of second)
        Geometric mean of makespans over that of the shortest.
    strength : float
        By what factor, typically, a makespan is off where it is foretold from the two axes one by
        one: 1 if what one does is the same at all values of the other.
    slices, all_slices : int
        Combinations of values of the other axes that have all combinations of these two, and all
        that there are: only the former count.

    See Also
    --------
    interactions : makes them.
    """

    first: Axis
    second: Axis
    relative: NDArray[np.float64]
    strength: float
    slices: int
    all_slices: int


def interactions(table: StudyTable) -> list[Interaction]:
    """Return the interactions of any two axes, the strongest first.

    Parameters
    ----------
    table : StudyTable

    Returns
    -------
    list of Interaction
        None of two axes that never have all their combinations: such a mean would be one of
        different things in each of its cells.

    See Also
    --------
    tasksim.study.report.sobol.sobol_indices : what each axis does with all others.

    Notes
    -----
    The strength is exp of the root of the mean square of what an additive fit to the logarithms
    leaves, as in an analysis of variance with two factors.
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
