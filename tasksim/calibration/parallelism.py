"""Parallelism of this machine, tested with threads that should run at the same time."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.calibration.kernels_under_load import KernelCall
from tasksim.calibration.timed_executions import TimedExecutions
from tasksim.kernels.threads import single_threaded_blas
from tasksim.native.this_machine import cores_for, pin_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tasksim.kernels.standalone import Standalone

__all__ = ["Parallelism", "measure_parallelism"]

MIN_ROUNDS: Final = 10
"""Smallest number of rounds, alone and together in turn, so that other programs affect both."""
PATIENCE_S: Final = 3.0
"""Time limit for repetitions while the result is impossible, in seconds."""
EXECUTIONS_PER_ROUND: Final = 10
"""Executions of each thread in a round: some 10 ms, so that rounds are close to each other."""
SPEEDUP_DECIMALS: Final = 2
"""Decimals of a reported speedup: a smaller excess over the limit is none."""


@dataclass(frozen=True)
class Parallelism:
    """Duration of a kernel alone, and on all workers at once."""

    workers: int
    alone_s: float
    """Median duration on one worker, with the others idle, in seconds."""
    together_s: float
    """Median duration with all workers busy, in seconds."""

    @property
    def speedup(self) -> float:
        """Measured throughput of all workers relative to one."""
        return self.workers * self.alone_s / self.together_s

    @property
    def ratio(self) -> float:
        """Measured slowdown of the kernel while all workers are busy."""
        return self.together_s / self.alone_s

    @property
    def disturbed_by(self) -> float:
        """Share by which the speedup lies outside 1 to the number of workers; 0 inside."""
        if 1 <= round(self.speedup, SPEEDUP_DECIMALS) <= self.workers:
            return 0.0
        return max(self.speedup / self.workers, 1 / self.speedup) - 1

    def text(self) -> str:
        """Return the result as text; an impossible one is marked as such."""
        speedup = f"{self.speedup:.{SPEEDUP_DECIMALS}f}"
        if not self.disturbed_by:
            return (
                f"{self.workers} threads do the work of {speedup} (a kernel takes "
                f"{self.ratio:.2f} times as long with all busy)"
            )
        limit = f"at most {self.workers} are" if self.speedup > 1 else "at least 1 is"
        return (
            f"{self.workers} threads were measured to do the work of {speedup}, and {limit} "
            "possible: others use the cores, the measurement is off by "
            f"{100 * self.disturbed_by:.2g} % at least"
        )


def measure_parallelism(
    workers: int,
    *,
    patience_s: float = PATIENCE_S,
    timed: Callable[[int], Sequence[float]] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Parallelism:
    """Time a kernel on one thread and on *workers* threads until the result is possible.

    Parameters
    ----------
    workers : int
        Number of threads, each on a core of its own if there are enough.
    patience_s : float
        Time limit for repetitions while the result is impossible, in seconds.
    timed : callable, optional
        Returns the durations of executions on a number of threads [default: products of
        matrices of 256 x 256].
    clock : callable, optional
        Returns the time in seconds.
    """
    alone: list[float] = []
    together: list[float] = []
    if timed is None:
        timed = partial(_times, KernelCall("gemm", {"m": 256, "n": 256, "k": 256}).bodies(workers))
    until, rounds = clock() + patience_s, 0
    while True:
        alone += timed(1)
        together += timed(workers)
        rounds += 1
        found = Parallelism(workers, float(np.median(alone)), float(np.median(together)))
        if rounds >= MIN_ROUNDS and (not found.disturbed_by or clock() >= until):
            return found


def _times(bodies: Sequence[Standalone], workers: int) -> list[float]:
    """Return the durations of executions of the first *workers* bodies, all at once."""
    cores: Sequence[int | None] = cores_for(workers) or [None] * workers
    times: list[float] = []
    start = threading.Barrier(workers)

    def repeat(body: Standalone, core: int | None) -> None:
        pin_thread(core)
        body.run()  # warms the caches
        start.wait()
        executions = TimedExecutions()
        for _ in range(EXECUTIONS_PER_ROUND):
            executions.time(body.run)
        found = executions.times()
        # Threads that share a core wait for each other, and this wait counts.
        times.extend((found.wall_s if core is None else found.own_s).tolist())

    threads = [
        threading.Thread(target=repeat, args=(body, core), daemon=True)
        for body, core in zip(bodies[:workers], cores, strict=False)
    ]
    with single_threaded_blas():
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return times
