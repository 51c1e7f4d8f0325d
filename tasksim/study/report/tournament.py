"""Tournament of schedulers, with wins, ties, profiles, and ratios to the best and to the bound.

::

    for standing in standings(Pairs.of(table)):
        print(standing.scheduler, standing.wins, standing.mean_ratio)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.study.report.pairs import PairedMakespans

__all__ = ["Standing", "geometric_mean", "performance_profile", "standings"]


@dataclass(frozen=True)
class Standing:
    """Results of a scheduler over all groups of the same graph, platform, settings and seed.

    Parameters
    ----------
    scheduler : str
    wins : int
        Number of groups in which it alone is best.
    ties : int
        Number of groups in which it is best together with others.
    mean_ratio, worst_ratio : float
        Ratio of its makespan to the best of the group: geometric mean and maximum.
    worst_cell : str
        Cell with the largest ratio.
    mean_bound_ratio, worst_bound_ratio : float or None
        Ratio of its makespan to the lower bound of the same run: geometric mean and maximum; None
        if no run has a bound.
    mean_known_ratio, worst_known_ratio : float or None
        The same to the best known makespan of the same graph on the same platform; None if there
        is none beside the runs themselves.
    """

    scheduler: str
    wins: int
    ties: int
    mean_ratio: float
    worst_ratio: float
    worst_cell: str
    mean_bound_ratio: float | None
    worst_bound_ratio: float | None
    mean_known_ratio: float | None
    worst_known_ratio: float | None


def standings(pairs: PairedMakespans) -> list[Standing]:
    """Return the standings of the schedulers, the lowest mean ratio first.

    Parameters
    ----------
    pairs : PairedMakespans

    Returns
    -------
    list of Standing
        The standings; empty if there is no group in which all schedulers have a makespan.

    See Also
    --------
    tasksim.study.report.verdict.judge : Statistical test of the first scheduler's lead.

    Notes
    -----
    Means of ratios are geometric, so that the order of schedulers does not depend on the makespan
    in the denominator. Ph. J. Fleming and J. J. Wallace, "How not to lie with statistics: the
    correct way to summarize benchmark results", Communications of the ACM 29 (1986), pp. 218-221.
    """
    if not len(pairs):
        return []
    ratios, best = pairs.ratios, pairs.best
    alone = best & (best.sum(axis=1, keepdims=True) == 1)
    means, worst = geometric_mean(ratios), ratios.argmax(axis=0)
    found = [
        Standing(
            scheduler,
            int(alone[:, k].sum()),
            int((best & ~alone)[:, k].sum()),
            float(means[k]),
            float(ratios[worst[k], k]),
            str(pairs.cells[worst[k], k]),
            *_ratios_to(pairs.bounds_s[:, k], pairs.makespans_s[:, k]),
            *_ratios_to(pairs.known_s[:, k], pairs.makespans_s[:, k]),
        )
        for k, scheduler in enumerate(pairs.schedulers)
    ]
    return sorted(found, key=lambda standing: standing.mean_ratio)


def geometric_mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the geometric means of the columns of *values*.

    >>> geometric_mean(np.array([[1.0, 2.0], [4.0, 8.0]])).round(6).tolist()
    [2.0, 4.0]
    """
    means: NDArray[np.float64] = np.exp(np.log(values).mean(axis=0))
    return means


def _ratios_to(
    least_s: NDArray[np.float64], makespans_s: NDArray[np.float64]
) -> tuple[float | None, float | None]:
    """Return the mean and the largest ratio of makespans to what is known to be less."""
    known = np.isfinite(least_s) & (least_s > 0)
    if not known.any():
        return None, None
    ratios = makespans_s[known] / least_s[known]
    return float(geometric_mean(ratios)), float(ratios.max())


def performance_profile(pairs: PairedMakespans) -> pd.DataFrame:
    """Return the performance profile of each scheduler, as steps.

    Parameters
    ----------
    pairs : PairedMakespans
        Groups count if all schedulers were tried and at least one has a makespan; the ratio of a
        failed scheduler is infinite.

    Returns
    -------
    pandas.DataFrame
        ``factor``, the position of each step, from 1; and a column per scheduler: the share of
        groups in which its makespan is at most *factor* times the best.

    See Also
    --------
    tasksim.study.report.tournament.standings : Summary in numbers.

    Notes
    -----
    E. D. Dolan and J. J. Moré, "Benchmarking optimization software with performance profiles",
    Mathematical Programming 91 (2002), pp. 201-213: rho_s(tau), eq. (2.1), of the ratios r_ps. Its
    value at 1 is the share of groups won, where a tie counts as a win of all; the rest to 1 at its
    end is the share of failed groups.
    """
    # Rounded, so that the ratio of a tie with the best is 1.
    ratios = np.round(pairs.ratios_with_failures, 9)
    factors = np.unique(np.append(ratios[np.isfinite(ratios)], 1.0))
    profile = pd.DataFrame({"factor": factors})
    for k, scheduler in enumerate(pairs.schedulers):
        reached = np.searchsorted(np.sort(ratios[:, k]), factors, side="right")
        profile[scheduler] = reached / max(len(ratios), 1)
    return profile
