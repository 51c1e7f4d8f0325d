"""Conditions under which counters make a time: said where samples do not meet them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.models.columns import CLOCK
from tasksim.models.counters.columns import HITS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tasksim.models.counters.costs import Spent
    from tasksim.models.samples import Samples

__all__ = ["conditions", "variance_over_runs"]

FEWEST_RUNS: Final = 3
"""That many runs tell whether cycles per instruction are always the same."""
RARE: Final = 1e-4
"""Of accesses may reach memory: hits times latencies are a time only as long as misses of the last
level are rare (N. Ding et al.)."""
TOLD_APART: Final = 0.05
"""Where times of memory per instruction differ by less, relatively, samples do not tell the two
parts apart."""


def conditions(samples: Samples, spent: Spent) -> Iterator[str]:
    """Yield a line per condition that *samples*, who spent that, do not meet."""
    counters = samples.counters or {}
    if CLOCK in samples.names:
        clocks_ghz = np.unique(samples.parameters[:, samples.names.index(CLOCK)]) / 1e9
        yield (
            f"measured at {', '.join(f'{clock:.3g}' for clock in clocks_ghz)} GHz: predictions are "
            f"for {clocks_ghz[-1]:.3g} GHz, unless {CLOCK} or a platform names another clock"
        )
    runs = len(np.unique(samples.runs)) if samples.runs is not None else 1
    if runs < FEWEST_RUNS:
        yield f"cycles per instruction of {runs} run(s): three at least tell their variance"
    accesses = sum(counters[name] for name in HITS.values() if name in counters)
    share = counters.get("memory_accesses", 0 * spent.memory_s) / np.maximum(accesses, 1.0)
    if (share > RARE).any():
        yield (
            f"up to {share.max():.2g} of the accesses reach memory (rare is {RARE:g}): hits times "
            "latencies are less sure"
        )
    ratio = spent.memory_s * spent.frequency_hz / spent.instructions
    if not ratio.std() > TOLD_APART * ratio.mean():
        yield (
            "memory takes the same share of all samples: what computing and what memory costs "
            "cannot be told apart; measure at a second frequency or load of the memory"
        )


def variance_over_runs(per_sample: NDArray[np.float64], runs: NDArray[np.int64] | None) -> float:
    """Return the variance of the means of runs; NaN of fewer than two."""
    if runs is None:
        return float("nan")
    _, run = np.unique(runs, return_inverse=True)
    means = np.bincount(run, per_sample) / np.bincount(run)
    return float(means.var(ddof=1)) if len(means) > 1 else float("nan")
