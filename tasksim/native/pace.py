"""Pace: how fast this machine works right now, others on it and all.

A moment's pause, in which somebody else has the core, is what makes a run slow on a busy machine.
So the clock on the wall counts here, and the mean of all cores, where the probe of calm moments
(:mod:`tasksim.native.calm_moments`) looks away from pauses. On two cores that others used, .06 s of
it explained nine tenths of the variance of what the runs after it took, the other probe none.
"""

from __future__ import annotations

import statistics
import time
from typing import Final

from tasksim.models.uncertainty.pacelaw import RECENT
from tasksim.native.products import Products

__all__ = ["Pace"]

PRODUCTS: Final = 40
"""Of some 1.6 ms. With 5, 10 and 20 of them .23, .21 and .19 of the logarithm of what runs took
remained unexplained, with 40 it was .11; runs themselves took as long as that."""
PAUSE_S: Final = 0.1
"""About what a run of a calibration takes, which is what is between its paces."""


class Pace:
    """A piece of work on all cores at once; calling it returns how long it takes now.

    Parameters
    ----------
    workers : int
        Threads, each on a core of its own where there are enough.

    Examples
    --------
    >>> Pace(1)() > 0
    True
    """

    def __init__(self, workers: int) -> None:
        self._products = Products(workers)

    def __call__(self) -> float:
        """Return the time of a product in seconds, the mean of all threads."""
        times = self._products.times_s(1, PRODUCTS)
        return statistics.fmean(seconds for (seconds,) in times) / PRODUCTS

    def recent(self) -> list[float]:
        """Return the last paces, the latest last, by waiting for them: how restless it is now."""
        found = []
        for _ in range(RECENT - 1):
            found.append(self())
            time.sleep(PAUSE_S)
        return [*found, self()]
