"""Performance profiles: the share of groups in which a scheduler is within a factor of the best."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from tasksim.study.report.pairs import Pairs

__all__ = ["performance_profile"]


def performance_profile(pairs: Pairs) -> pd.DataFrame:
    """Return the performance profile of each scheduler, as steps.

    Parameters
    ----------
    pairs : Pairs
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
