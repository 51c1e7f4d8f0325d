"""Probe of the slowdown of work on all cores, relative to idle cores.

The work is products of cached matrices, on all cores at once.
"""

from __future__ import annotations

import threading
import time
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.kernels.threads import single_threaded_blas
from tasksim.models.uncertainty.slowdownlaw import RECENT_PROBES, Probe
from tasksim.native.cache_state import cache_state
from tasksim.native.detour import detour_s
from tasksim.native.pulse import idle_cores, relative_pulse
from tasksim.native.this_machine import pin_thread, usable_cores
from tasksim.run.crowding import crowding_now

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["PAUSE_S", "PROBE_S", "ProductThreads", "SlowdownProbe"]


ROWS, COLUMNS = 125, 2000  # 1.6 ms per product


class ProductThreads:
    """Threads that multiply matrices, each on a core of its own if there are enough.

    Parameters
    ----------
    workers : int
        Number of threads.
    cores : list of int, optional
        Cores to use [default: all that this process may use].
    """

    def __init__(self, workers: int, cores: list[int] | None = None) -> None:
        rng = np.random.default_rng(0)
        self._matrix = rng.random((ROWS, ROWS))
        self._inputs = [rng.random((ROWS, COLUMNS)) for _ in range(workers)]
        self._outputs = [np.empty((ROWS, COLUMNS)) for _ in range(workers)]
        cores = cores or usable_cores()
        self._cores = cores[:workers] if workers <= len(cores) else [None] * workers

    def times_s(self, chunks: int, products: int) -> list[list[float]]:
        """Return the duration of each chunk of *products* products, per thread."""
        times: list[list[float]] = [[] for _ in self._inputs]

        def work(worker: int) -> None:
            for _ in range(chunks):
                begun = perf_counter()
                for _ in range(products):
                    self._multiply(worker)
                times[worker].append(perf_counter() - begun)

        self._together(work)
        return times

    def shares(
        self, seconds: float, between: Callable[[int], None] = lambda _worker: None
    ) -> list[float]:
        """Return the share of the next *seconds* in which each thread had a core.

        Each calls *between* with its number after each product.
        """
        found = [0.0] * len(self._inputs)

        def work(worker: int) -> None:
            begun, had = perf_counter(), thread_time()
            while perf_counter() < begun + seconds:
                self._multiply(worker)
                between(worker)
            found[worker] = (thread_time() - had) / (perf_counter() - begun)

        self._together(work)
        return found

    def _multiply(self, worker: int) -> None:
        np.matmul(self._matrix, self._inputs[worker], out=self._outputs[worker])

    def _together(self, work: Callable[[int], None]) -> None:
        """Call *work* in all threads at once."""
        start = threading.Barrier(len(self._inputs))

        def begin(worker: int) -> None:
            pin_thread(self._cores[worker])
            start.wait()
            work(worker)

        threads = [
            threading.Thread(target=begin, args=(worker,), daemon=True)
            for worker in range(len(self._inputs))
        ]
        with single_threaded_blas():
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()


PROBE_S: Final = 0.05
"""Duration of a probe, in seconds: several time slices of a core, which last 3 to 4 ms each."""
PAUSE_S: Final = 0.35
"""Time between recent probes, in seconds: the load of others changes within seconds."""


class SlowdownProbe:
    """A probe that keeps all cores busy for a moment.

    The ratio of the threads' processor time to the wall time is the share of the cores that they
    got; pulses and beats (:mod:`tasksim.native.pulse`), the state of the caches
    (:mod:`tasksim.native.cache_state`) and the detour of data between cores
    (:mod:`tasksim.native.detour`) tell what others on the same processor took of that.
    So neither the processor's speed nor the contents of its caches matter.

    Parameters
    ----------
    workers : int
        Number of threads, each on a core of its own if there are enough.

    Examples
    --------
    >>> SlowdownProbe(1)().slowdown >= 1
    True
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._products = ProductThreads(workers)
        self._pulses = [relative_pulse(idle) for idle in idle_cores(workers) or []]

    def __call__(self) -> Probe:
        """Return the current slowdown: the duration of work relative to idle cores."""
        caches = cache_state()
        seen: list[tuple[float, float]] = []
        pulses = self._pulses
        between = (lambda worker: seen.append(pulses[worker]())) if pulses else (lambda _: None)
        shares = self._products.shares(PROBE_S, between)
        without_core = max(len(shares) / max(sum(shares), 1e-3), 1.0)
        if not seen:
            return Probe(without_core)
        pulse, beat = np.array(seen).T
        others_share = 1.0 - 1.0 / without_core
        of_kernels = crowding_now(pulse, beat, caches, detour_s(self._workers), others_share)
        return Probe(without_core * of_kernels[""], of_kernels[""], of_kernels)

    def recent(self) -> list[Probe]:
        """Wait for the last few slowdowns and return them, the latest last.

        They show whether the load of others changes.
        """
        found = []
        for _ in range(RECENT_PROBES - 1):
            found.append(self())
            time.sleep(PAUSE_S)
        return [*found, self()]
