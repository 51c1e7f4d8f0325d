"""Conditions of the counter model, and notes if samples violate them."""

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

MIN_RUNS: Final = 3
"""Minimum number of runs to estimate the variance of cycles per instruction."""
MAX_MEMORY_SHARE: Final = 1e-4
"""Maximum share of accesses that reach memory: hits times latencies are a valid time only if misses
of the last level are rare (N. Ding et al.)."""
MIN_MEMORY_VARIATION: Final = 0.05
"""Minimum relative variation of memory time per instruction: with less, samples do not separate the
costs of computing and of memory."""


def conditions(samples: Samples, spent: Spent) -> Iterator[str]:
    """Yield a note for each condition that *samples*, with the times *spent*, violate."""
    counters = samples.counters or {}
    if CLOCK in samples.names:
        clocks_ghz = np.unique(samples.parameters[:, samples.names.index(CLOCK)]) / 1e9
        yield (
            f"measured at {', '.join(f'{clock:.3g}' for clock in clocks_ghz)} GHz: predictions are "
            f"for {clocks_ghz[-1]:.3g} GHz, unless {CLOCK} or a platform names another clock"
        )
    runs = len(np.unique(samples.runs)) if samples.runs is not None else 1
    if runs < MIN_RUNS:
        yield f"cycles per instruction of {runs} run(s): their variance needs at least three"
    accesses = sum(counters[name] for name in HITS.values() if name in counters)
    share = counters.get("memory_accesses", 0 * spent.memory_s) / np.maximum(accesses, 1.0)
    if (share > MAX_MEMORY_SHARE).any():
        yield (
            f"up to {share.max():.2g} of the accesses reach memory (rare is {MAX_MEMORY_SHARE:g}): "
            "hits times latencies are less reliable"
        )
    ratio = spent.memory_s * spent.frequency_hz / spent.instructions
    if not ratio.std() > MIN_MEMORY_VARIATION * ratio.mean():
        yield (
            "memory takes the same share of all samples: what computing and what memory costs "
            "cannot be told apart; measure at a second frequency or load of the memory"
        )


def variance_over_runs(per_sample: NDArray[np.float64], runs: NDArray[np.int64] | None) -> float:
    """Return the variance of the means of runs; NaN for fewer than two."""
    if runs is None:
        return float("nan")
    _, run = np.unique(runs, return_inverse=True)
    means = np.bincount(run, per_sample) / np.bincount(run)
    return float(means.var(ddof=1)) if len(means) > 1 else float("nan")
