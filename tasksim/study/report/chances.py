"""Probability that one scheduler beats another, as a share of paired runs with an interval."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from tasksim.study.report.evidence import CONFIDENCE_LEVEL, Evidence
from tasksim.study.report.pairs import TIE_TOLERANCE

if TYPE_CHECKING:
    from tasksim.study.report.pairs import PairedMakespans

__all__ = ["Chance", "chances"]


@dataclass(frozen=True)
class Chance:
    """Probability that *first* has a shorter makespan than *second* in a run like these.

    Parameters
    ----------
    first, second : str
    probability, low, high : float
        Probability, with ties counted as half, and the ends of its interval. The sample size is
        the number of blocks.
    ties : float
        Share of runs in which both have the same makespan.

    See Also
    --------
    chances : Compute the chances of all pairs.
    """

    first: str
    second: str
    probability: float
    low: float
    high: float
    ties: float


def chances(pairs: PairedMakespans, confidence: float = CONFIDENCE_LEVEL) -> list[Chance]:
    """Return the chance of each pair of schedulers, the highest probability first.

    Parameters
    ----------
    pairs : PairedMakespans
        Runs of both schedulers under the same conditions, noise included.
    confidence : float, default 0.95
        Confidence level of each interval by itself.

    Returns
    -------
    list of Chance
        The chances of all pairs; empty without runs.

    See Also
    --------
    tasksim.study.report.differences.differences : Relative differences of the makespans.

    Notes
    -----
    All configurations have the same weight. The interval is that of C. J. Clopper and E. S.
    Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial",
    Biometrika 26 (1934), pp. 404-413. Its sample size is the number of configurations, or of runs
    if there are too few configurations: more seeds of a configuration are no evidence about others.

    Examples
    --------
    >>> import pandas as pd
    >>> from tasksim.study.report.pairs import PairedMakespans
    >>> from tasksim.study.report.table import StudyTable
    >>> rows = [(f"{s}{seed}", s, seed, t + seed) for s, t in (("a", 1.0), ("b", 2.0))
    ...         for seed in range(8)]
    >>> frame = pd.DataFrame(rows, columns=["cell", "scheduler", "seed", "makespan_s"])
    >>> frame = frame.assign(graph="lu tiles=4", platform="p", status="done")
    >>> (found,) = chances(PairedMakespans.of(StudyTable.of(frame)))
    >>> found.first, found.probability, round(found.low, 3), found.high
    ('a', 1.0, 0.631, 1.0)
    """
    if not len(pairs):
        return []
    blocks = len(Evidence.of(pairs))
    _, code, counts = np.unique(pairs.configuration, return_inverse=True, return_counts=True)
    weights = 1.0 / (len(counts) * counts[code])
    tail = (1.0 - confidence) / 2.0
    found = []
    for i, j in combinations(range(len(pairs.schedulers)), 2):
        gap = np.log(pairs.makespans_s[:, j] / pairs.makespans_s[:, i])
        ties = float(weights @ (np.abs(gap) <= TIE_TOLERANCE))
        wins = float(weights @ (gap > TIE_TOLERANCE))
        losses = float(weights @ (gap < -TIE_TOLERANCE))
        names = pairs.schedulers[i], pairs.schedulers[j]
        if losses > wins:
            wins, names = losses, (names[1], names[0])
        probability = min(max(round(wins + ties / 2, 12), 0.0), 1.0)
        won, lost = probability * blocks, (1.0 - probability) * blocks  # they may be fractions
        low = float(stats.beta.ppf(tail, won, lost + 1)) if won > 0 else 0.0
        high = float(stats.beta.isf(tail, won + 1, lost)) if lost > 0 else 1.0
        found.append(Chance(*names, probability, low, high, round(ties, 12)))
    return sorted(found, key=lambda one: -one.probability)
