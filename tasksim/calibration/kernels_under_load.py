"""Kernels under load: one is measured by itself, on every worker with data of its own."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from tasksim.calibration.timed_executions import ExecutionTimes, TimedExecutions
from tasksim.kernels.standalone import standalone
from tasksim.kernels.threads import single_threaded_blas
from tasksim.native.cores import pin_thread, usable_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tasksim.calibration.calibration_options import CalibrationOptions
    from tasksim.calibration.kernel_samples import KernelSamples
    from tasksim.kernels.standalone import Standalone

__all__ = ["Bursts", "KernelCall", "measure_under_load", "run_beside"]

BATCH_S = 0.25
"""How long the workers run between two looks at whether it is enough."""
BURST_S = 0.01
"""How long a burst lasts, one of many that take turns: long beside the millisecond that it takes to
start threads, short beside how long a machine stays slow."""
BESIDE_S = 0.05
"""How long kernels run beside each other at a time: some fifty of a millisecond."""
REPEATABLE = ("gemm", "lacpy", "syrk")
"""Kernels whose data stay good for another time: what would restore them would be a neighbour of
its own, that moves memory."""
WARM_UP = 3
"""Executions that are dropped first: the first two touch memory and fill caches."""
MOST_KEPT = 200
"""Of one worker between two looks, this many repetitions are kept, evenly spaced: a tiny kernel has
tens of thousands, which tell no more of the differences between runs."""


@dataclass(frozen=True)
class KernelCall:
    """A kernel to be measured, with exact parameters."""

    name: str
    parameters: Mapping[str, float] = field(default_factory=dict)


def measure_under_load(
    kernels: Sequence[KernelCall],
    workers: int,
    collected: KernelSamples,
    options: CalibrationOptions,
    after_round: Callable[[str, float], None],
) -> None:
    """Measure each of *kernels* on all workers at once until it is known, or its time is over.

    Each kernel gets an equal share of the time. Inputs are restored between repetitions,
    outside the measured time; the first repetitions of each worker warm up and are dropped.
    """
    share = options.max_seconds / max(1, len(kernels))
    cores = usable_cores()
    begun = time.monotonic()
    with single_threaded_blas():
        for kernel in kernels:
            bodies = [
                standalone(kernel.name, dict(kernel.parameters), seed=w) for w in range(workers)
            ]
            kernel_begun = time.monotonic()
            while True:
                batch = [_Repeater(body) for body in bodies]
                _run_together(batch, cores if options.pin and workers <= len(cores) else None)
                times = ExecutionTimes.of_all(repeater.kept() for repeater in batch)
                collected.add_executions(kernel.name, kernel.parameters, times)
                collected.next_run += 1
                after_round(kernel.name, (time.monotonic() - begun) / options.max_seconds)
                if time.monotonic() - kernel_begun >= share or _known(collected, kernel, options):
                    break


class Bursts:
    """Measures kernels by themselves in short bursts, whichever is asked for next.

    Around all bursts BLAS is to be held at one thread
    (:func:`~tasksim.kernels.threads.single_threaded_blas`).

    Parameters
    ----------
    workers : int
        How many run it at once.
    pin : bool, default True
        Whether each stays on a core of its own.
    """

    def __init__(self, workers: int, *, pin: bool = True) -> None:
        cores = usable_cores()
        self._workers = workers
        self._cores = cores if pin and workers <= len(cores) else None
        self._bodies: dict[tuple[str, tuple[float, ...]], list[Standalone]] = {}

    def __call__(self, kernel: KernelCall) -> tuple[ExecutionTimes, float]:
        """Return what executions took in a burst, the first of each worker left out.

        And how long the whole burst took, with what restores the data in between.
        """
        key = kernel.name, tuple(kernel.parameters.values())
        if key not in self._bodies:
            self._bodies[key] = [
                standalone(kernel.name, dict(kernel.parameters), seed=worker)
                for worker in range(self._workers)
            ]
        begun = perf_counter()
        batch = [_Repeater(body) for body in self._bodies[key]]
        _run_together(batch, self._cores, BURST_S)
        return ExecutionTimes.of_all(repeater.kept() for repeater in batch), perf_counter() - begun


def run_beside(
    bodies: Sequence[Standalone], *, for_s: float = BESIDE_S, reset: bool = True
) -> list[ExecutionTimes]:
    """Run each of *bodies* again and again on a core of its own; return what executions took.

    Without *reset*, data are not made again what they were, for kernels that can do without.
    """
    cores = usable_cores()
    batch = [_Repeater(body, reset=reset and body.kernel.name not in REPEATABLE) for body in bodies]
    _run_together(batch, cores if len(bodies) <= len(cores) else None, for_s)
    return [repeater.warm() for repeater in batch]


def _known(collected: KernelSamples, kernel: KernelCall, options: CalibrationOptions) -> bool:
    mine = [
        c
        for c in collected.configurations(options)
        if c.kernel == kernel.name and c.parameters == dict(kernel.parameters)
    ]
    return all(c.stopped == "tolerance" for c in mine)


def _nothing() -> None:
    pass


class _Repeater:
    """One worker's repetitions of a kernel."""

    def __init__(self, body: Standalone, *, reset: bool = True) -> None:
        self.body = body
        self.reset = body.reset if reset else _nothing
        self.executions = TimedExecutions()
        self.times: ExecutionTimes
        self.error: Exception | None = None

    def warm(self) -> ExecutionTimes:
        """Return the times without the first, if there are others."""
        return self.times.only(slice(WARM_UP if len(self.executions) > WARM_UP else 0, None))

    def kept(self) -> ExecutionTimes:
        """Return the times that are kept: without the first, and not too many."""
        times = self.warm()
        count = len(times.wall_s)
        chosen = np.linspace(0, count - 1, min(count, MOST_KEPT))
        return times.only(chosen.astype(np.intp))

    def run(self, start: threading.Barrier, stop: threading.Event, core: int | None) -> None:
        pin_thread(core)
        with suppress(threading.BrokenBarrierError):  # the measuring was interrupted
            start.wait()
        try:
            self._repeat(stop)
            self.times = self.executions.times()
        except Exception as error:
            self.error = error
            stop.set()

    def _repeat(self, stop: threading.Event) -> None:
        reset, time, execute = self.reset, self.executions.time, self.body.run
        while not stop.is_set():
            reset()
            time(execute)


def _run_together(
    repeaters: list[_Repeater], cores: list[int] | None, for_s: float = BATCH_S
) -> None:
    """Run all *repeaters* at once for a while: they are each other's load.

    Raises the first error of a kernel. However it ends, no thread is left behind.
    """
    start, stop = threading.Barrier(len(repeaters) + 1), threading.Event()
    threads = [
        threading.Thread(target=r.run, args=(start, stop, cores[i] if cores else None), daemon=True)
        for i, r in enumerate(repeaters)
    ]
    for thread in threads:
        thread.start()
    try:
        start.wait()
        while not stop.wait(for_s) and min(len(r.executions) for r in repeaters) <= WARM_UP:
            pass
    finally:
        stop.set()
        start.abort()
        for thread in threads:
            thread.join()
    for repeater in repeaters:
        if repeater.error is not None:
            raise repeater.error
