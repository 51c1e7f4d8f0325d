"""Parallelism of this machine: whether its threads really run at the same time."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.calibration.timed_executions import TimedExecutions
from tasksim.kernels.standalone import standalone
from tasksim.kernels.threads import single_threaded_blas
from tasksim.native.cores import pin_thread, usable_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tasksim.kernels.standalone import Standalone

__all__ = ["Parallelism", "measure_parallelism"]

MIN_ROUNDS: Final = 10
"""Rounds, alone and together in turn: a moment in which others use the cores falls on both."""
PATIENCE_S: Final = 3.0
"""How long to go on while the result is impossible."""
ROUND: Final = 10
"""Executions of each thread in a round: some 10 ms, so that rounds are close to each other."""
DECIMALS: Final = 2
"""Of a speedup, as it is told: what they do not show is no excess."""


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
        """How many times one worker's throughput all workers have together, as measured."""
        return self.workers * self.alone_s / self.together_s

    @property
    def ratio(self) -> float:
        """Measured slowdown of the kernel while all workers are busy: a factor."""
        return self.together_s / self.alone_s

    @property
    def disturbed_by(self) -> float:
        """Share by which the speedup lies outside 1 to the number of workers; 0 inside."""
        if 1 <= round(self.speedup, DECIMALS) <= self.workers:
            return 0.0
        return max(self.speedup / self.workers, 1 / self.speedup) - 1

    def text(self) -> str:
        """Return the result for people; an impossible one is told as such."""
        speedup = f"{self.speedup:.{DECIMALS}f}"
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
    """Time a kernel on one thread and on *workers* at once, in turn, until the result is possible.

    Parameters
    ----------
    workers : int
        Threads, each on a core of its own where there are enough.
    patience_s : float
        How long to go on at most while the result is impossible.
    timed : callable, optional
        Returns what executions take on so many threads; by default products of matrices of
        256 x 256.
    clock : callable, optional
        Returns the time in seconds.
    """
    alone: list[float] = []
    together: list[float] = []
    timed = timed or partial(_times, _bodies(workers))
    until, rounds = clock() + patience_s, 0
    while True:
        alone += timed(1)
        together += timed(workers)
        rounds += 1
        found = Parallelism(workers, float(np.median(alone)), float(np.median(together)))
        if rounds >= MIN_ROUNDS and (not found.disturbed_by or clock() >= until):
            return found


def _bodies(workers: int) -> list[Standalone]:
    return [
        standalone("gemm", {"m": 256, "n": 256, "k": 256}, seed=worker) for worker in range(workers)
    ]


def _times(bodies: Sequence[Standalone], workers: int) -> list[float]:
    """Return what the executions of the first *workers* bodies take, all at once."""
    usable = usable_cores()
    cores = usable if workers <= len(usable) else [None] * workers
    times: list[float] = []
    start = threading.Barrier(workers)

    def repeat(body: Standalone, core: int | None) -> None:
        pin_thread(core)
        body.run()  # warms the caches
        start.wait()
        executions = TimedExecutions()
        for _ in range(ROUND):
            executions.time(body.run)
        found = executions.times()
        # Threads that share a core wait for each other, and that is what counts.
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
