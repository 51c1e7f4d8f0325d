"""Slowdown probe: how many times as long work on all cores takes now as it would take alone."""

from __future__ import annotations

import time
from typing import Final

from tasksim.models.uncertainty.slowdownlaw import RECENT_PROBES
from tasksim.native.products import Products

__all__ = ["PAUSE_S", "PROBE_S", "SlowdownProbe"]

PROBE_S: Final = 0.05
"""Wall time of a probe, in seconds: several slices of a core, which last 3 to 4 ms each."""
PAUSE_S: Final = 0.35
"""Time between recent probes, in seconds: others come and go within seconds."""


class SlowdownProbe:
    """Asks for all cores for a moment; calling it returns the slowdown, 1 or more.

    The threads' processor time over the time by the clock on the wall says which part of the cores
    they got. So neither the speed of the processor nor what else is in its caches counts.

    Parameters
    ----------
    workers : int
        Threads, each on a core of its own where there are enough.

    Examples
    --------
    >>> SlowdownProbe(1)() >= 1
    True
    """

    def __init__(self, workers: int) -> None:
        self._products = Products(workers)

    def __call__(self) -> float:
        """Return how many times as long work takes now as it would alone."""
        shares = self._products.shares(PROBE_S)
        return max(len(shares) / max(sum(shares), 1e-3), 1.0)

    def recent(self) -> list[float]:
        """Return the last few slowdowns, the latest last, by waiting for them.

        They tell whether others come and go.
        """
        found = []
        for _ in range(RECENT_PROBES - 1):
            found.append(self())
            time.sleep(PAUSE_S)
        return [*found, self()]
