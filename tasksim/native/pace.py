"""Pace: how fast this machine works right now, others on it and all.

A moment's pause, in which somebody else has the core, is what makes a run slow on a busy machine.
So the clock on the wall counts here, and the mean of all cores, where the probe of calm moments
(:mod:`tasksim.native.calm_moments`) looks away from pauses. On two cores that others used, .06 s of
it explained nine tenths of the variance of what the runs after it took, the other probe none.
"""

from __future__ import annotations

import statistics
import threading
from time import perf_counter
from typing import Final

import numpy as np

from tasksim.kernels.threads import single_threaded_blas
from tasksim.native.cores import pin_thread, usable_cores

__all__ = ["Pace"]

ROWS, COLUMNS = 125, 2000  # as for calm moments: a product of matrices that stay in the cache
PRODUCTS: Final = 40
"""Of some 1.6 ms. With 5, 10 and 20 of them .23, .21 and .19 of the logarithm of what runs took
remained unexplained, with 40 it was .11; runs themselves took as long as that."""


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
        rng = np.random.default_rng(0)
        self._matrix = rng.random((ROWS, ROWS))
        self._inputs = [rng.random((ROWS, COLUMNS)) for _ in range(workers)]
        self._outputs = [np.empty((ROWS, COLUMNS)) for _ in range(workers)]
        cores = usable_cores()
        self._cores = cores[:workers] if workers <= len(cores) else [None] * workers

    def __call__(self) -> float:
        """Return the time of a product in seconds, the mean of all threads."""
        workers = len(self._inputs)
        times, start = [0.0] * workers, threading.Barrier(workers)
        threads = [
            threading.Thread(target=self._work, args=(worker, start, times), daemon=True)
            for worker in range(workers)
        ]
        with single_threaded_blas():
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        return statistics.fmean(times) / PRODUCTS

    def _work(self, worker: int, start: threading.Barrier, times: list[float]) -> None:
        pin_thread(self._cores[worker])
        start.wait()
        begun = perf_counter()
        for _ in range(PRODUCTS):
            np.matmul(self._matrix, self._inputs[worker], out=self._outputs[worker])
        times[worker] = perf_counter() - begun
