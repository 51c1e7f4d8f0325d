"""Parallelism of this machine: whether its threads really run at the same time."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from tasksim.kernels.standalone import standalone
from tasksim.kernels.threads import single_threaded_blas
from tasksim.native.cores import pin_thread, usable_cores

__all__ = ["Parallelism", "measure_parallelism"]


@dataclass(frozen=True)
class Parallelism:
    """A kernel alone, and on all workers at once."""

    workers: int
    alone_s: float
    """The median time of the kernel on one worker, the others idle."""
    together_s: float
    """Its median time with all workers busy."""

    @property
    def speedup(self) -> float:
        """How many times one worker's throughput all workers have together."""
        return self.workers * self.alone_s / self.together_s

    @property
    def ratio(self) -> float:
        """How many times slower the kernel is with busy neighbours."""
        return self.together_s / self.alone_s


def measure_parallelism(workers: int, repetitions: int = 100) -> Parallelism:
    """Time a matrix product of 256 x 256 tiles alone and on *workers* threads at once."""
    bodies = [
        standalone("gemm", {"m": 256, "n": 256, "k": 256}, seed=worker) for worker in range(workers)
    ]
    cores = usable_cores() if workers <= len(usable_cores()) else [None] * workers
    with single_threaded_blas():
        alone = _times(bodies[:1], cores, repetitions)
        together = _times(bodies, cores, repetitions)
    return Parallelism(workers, float(np.median(alone)), float(np.median(together)))


def _times(bodies: list, cores: list, repetitions: int) -> list[float]:  # type: ignore[type-arg]
    times: list[float] = []
    start = threading.Barrier(len(bodies))

    def repeat(body: object, core: int | None) -> None:
        pin_thread(core)
        start.wait()
        for _ in range(repetitions):
            begun = perf_counter()
            body.run()  # type: ignore[attr-defined]
            times.append(perf_counter() - begun)

    threads = [
        threading.Thread(target=repeat, args=(body, core), daemon=True)
        for body, core in zip(bodies, cores, strict=False)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times
