"""Products of matrices that stay in the cache, on all cores at once: a ruler for the machine."""

from __future__ import annotations

import threading
from time import perf_counter

import numpy as np

from tasksim.kernels.threads import single_threaded_blas
from tasksim.native.cores import pin_thread, usable_cores

__all__ = ["Products"]

ROWS, COLUMNS = 125, 2000  # 1.6 ms a product


class Products:
    """Threads that multiply matrices, each on a core of its own where there are enough.

    Parameters
    ----------
    workers : int
        Threads.
    cores : list of int, optional
        The cores; by default those that this process may use.
    """

    def __init__(self, workers: int, cores: list[int] | None = None) -> None:
        rng = np.random.default_rng(0)
        self._matrix = rng.random((ROWS, ROWS))
        self._inputs = [rng.random((ROWS, COLUMNS)) for _ in range(workers)]
        self._outputs = [np.empty((ROWS, COLUMNS)) for _ in range(workers)]
        cores = usable_cores() if cores is None else cores
        self._cores = cores[:workers] if workers <= len(cores) else [None] * workers

    def times_s(self, chunks: int, products: int) -> list[list[float]]:
        """Return, of each thread, how long each of so many chunks of so many products took."""
        workers = len(self._inputs)
        times: list[list[float]] = [[] for _ in range(workers)]
        start = threading.Barrier(workers)

        def work(worker: int) -> None:
            pin_thread(self._cores[worker])
            start.wait()
            for _ in range(chunks):
                begun = perf_counter()
                for _ in range(products):
                    np.matmul(self._matrix, self._inputs[worker], out=self._outputs[worker])
                times[worker].append(perf_counter() - begun)

        threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(workers)]
        with single_threaded_blas():
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        return times
