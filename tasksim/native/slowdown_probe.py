"""Slowdown probe: ratio of the current duration of work on all cores to that on idle cores."""

from __future__ import annotations

import time
from typing import Final

from tasksim.models.uncertainty.slowdownlaw import RECENT_PROBES
from tasksim.native.products import Products

__all__ = ["PAUSE_S", "PROBE_S", "SlowdownProbe"]

PROBE_S: Final = 0.05
"""Duration of a probe, in seconds: several time slices of a core, which last 3 to 4 ms each."""
PAUSE_S: Final = 0.35
"""Time between recent probes, in seconds: the load of others changes within seconds."""


class SlowdownProbe:
    """Keeps all cores busy for a moment; a call returns the slowdown, 1 or more.

    The ratio of the threads' processor time to the wall time is the share of the cores that they
    got. So neither the processor's speed nor the contents of its caches matter.

    Parameters
    ----------
    workers : int
        Number of threads, each on a core of its own if there are enough.

    Examples
    --------
    >>> SlowdownProbe(1)() >= 1
    True
    """

    def __init__(self, workers: int) -> None:
        self._products = Products(workers)

    def __call__(self) -> float:
        """Return the current slowdown: the duration of work relative to idle cores."""
        shares = self._products.shares(PROBE_S)
        return max(len(shares) / max(sum(shares), 1e-3), 1.0)

    def recent(self) -> list[float]:
        """Wait for the last few slowdowns and return them, the latest last.

        They show whether the load of others changes.
        """
        found = []
        for _ in range(RECENT_PROBES - 1):
            found.append(self())
            time.sleep(PAUSE_S)
        return [*found, self()]
