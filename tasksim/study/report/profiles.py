"""Performance profiles: in what share of the groups a scheduler is within a factor of the best."""

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
        A group counts where all schedulers were tried and one has a makespan; one that failed is
        infinitely far from the best.

    Returns
    -------
    pandas.DataFrame
        ``factor``, from 1 on, every one at which a step is; and a column per scheduler: the share
        of groups in which its makespan is at most *factor* times that of the best.

    See Also
    --------
    tasksim.study.report.tournament.standings : the same in numbers.

    Notes
    -----
    E. D. Dolan and J. J. Moré, "Benchmarking optimization software with performance profiles",
    Mathematical Programming 91 (2002), pp. 201-213: rho_s(tau), eq. (2.1), of the ratios r_ps. Its
    value at 1 is the share of groups won, ties counting for all; what it does not reach at the
    end is the share that failed.
    """
    # Rounded: what is within a tie of the best is at 1.
    ratios = np.round(pairs.ratios_with_failures, 9)
    factors = np.unique(np.append(ratios[np.isfinite(ratios)], 1.0))
    profile = pd.DataFrame({"factor": factors})
    for k, scheduler in enumerate(pairs.schedulers):
        reached = np.searchsorted(np.sort(ratios[:, k]), factors, side="right")
        profile[scheduler] = reached / max(len(ratios), 1)
    return profile
