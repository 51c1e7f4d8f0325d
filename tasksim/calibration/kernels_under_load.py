"""Measurement of a kernel under load, on all workers at once, each with its own data."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.interruption import unbroken
from tasksim.calibration.timed_executions import ExecutionTimes, TimedExecutions
from tasksim.kernels.standalone import standalone
from tasksim.kernels.threads import single_threaded_blas
from tasksim.native.pulse import idle_cores
from tasksim.native.this_machine import cores_for, pin_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tasksim.base.progress import ShareProgress
    from tasksim.calibration.calibration_options import CalibrationOptions
    from tasksim.calibration.kernel_samples import KernelSamples
    from tasksim.kernels.standalone import Standalone

__all__ = ["Bursts", "KernelCall", "measure_under_load", "run_beside", "thinned"]

BATCH_S = 0.25
"""Time between two checks of the precision, in seconds."""
BURST_S = 0.01
"""Duration of a burst in seconds; bursts of several kernels take turns. It is long beside the
millisecond that threads take to start, and short beside the time for which a machine stays slow."""
BESIDE_S = 0.05
"""Time for which kernels run beside each other, in seconds: some fifty executions of a millisecond.
"""
UNRESTORED_KERNELS = ("gemm", "lacpy", "syrk")
"""Kernels whose data need not be restored: the restoration would be a neighbour of its own, which
moves memory."""
WARM_UP_EXECUTIONS = 3
"""Number of dropped first executions: the first two touch memory and fill caches."""
MAX_KEPT = 200
"""Largest number of repetitions kept per worker between two checks, evenly spaced: a tiny kernel
has tens of thousands, and they show no more of the differences between runs."""


@dataclass(frozen=True)
class KernelCall:
    """A kernel to measure, with exact parameters."""

    name: str
    parameters: Mapping[str, float] = field(default_factory=dict)

    def bodies(self, workers: int) -> list[Standalone]:
        """Return the kernel once per worker, each on data of its own."""
        return [standalone(self.name, self.parameters, seed=worker) for worker in range(workers)]


def measure_under_load(
    kernels: Sequence[KernelCall],
    workers: int,
    collected: KernelSamples,
    options: CalibrationOptions,
    after_round: ShareProgress,
) -> None:
    """Measure each kernel on all workers at once until it is known or its time is up.

    Each kernel gets an equal share of the time. Inputs are restored between repetitions, outside
    the measured time; the first repetitions of each worker warm up and are dropped.
    """
    share = options.max_seconds / max(1, len(kernels))
    begun = time.monotonic()
    with single_threaded_blas():
        for kernel in kernels:
            bodies, kernel_begun = kernel.bodies(workers), time.monotonic()
            while True:
                times = _all_times(bodies, BATCH_S, pin=options.pin)
                with unbroken():
                    collected.add_executions(kernel.name, kernel.parameters, times)
                collected.next_run += 1
                after_round(kernel.name, (time.monotonic() - begun) / options.max_seconds)
                known = all(
                    one.stopped == "tolerance"
                    for one in collected.configurations(options, [kernel.name])
                    if one.parameters == dict(kernel.parameters)
                )
                if known or time.monotonic() - kernel_begun >= share:
                    break


class Bursts:
    """Measurement of kernels alone, in short bursts and in any order.

    BLAS must be limited to one thread around all bursts
    (:func:`~tasksim.kernels.threads.single_threaded_blas`).

    Parameters
    ----------
    workers : int
        Number of workers that run a kernel at once.
    pin : bool, default True
        Whether each worker is pinned to a core of its own.
    """

    def __init__(self, workers: int, *, pin: bool = True) -> None:
        self._workers, self._pin = workers, pin
        self._bodies: dict[tuple[str, tuple[float, ...]], list[Standalone]] = {}

    def __call__(self, kernel: KernelCall) -> tuple[ExecutionTimes, float]:
        """Return the executions of a burst, without each worker's first, and the burst's duration.

        The duration includes the restoration of data in between.
        """
        key = kernel.name, tuple(kernel.parameters.values())
        if key not in self._bodies:
            self._bodies[key] = kernel.bodies(self._workers)
        begun = perf_counter()
        times = _all_times(self._bodies[key], BURST_S, pin=self._pin)
        return times, perf_counter() - begun


def _all_times(bodies: Sequence[Standalone], for_s: float, *, pin: bool) -> ExecutionTimes:
    """Run *bodies* at once for a while; return the times to keep: warm, and not too many."""
    batch = [_Repeater(body) for body in bodies]
    _run_together(batch, for_s, pin=pin)
    return ExecutionTimes.of_all(thinned(repeater.warm()) for repeater in batch)


def run_beside(
    bodies: Sequence[Standalone], *, for_s: float = BESIDE_S, reset: bool = True
) -> list[ExecutionTimes]:
    """Run each of *bodies* repeatedly on a core of its own; return the times of executions.

    Without *reset*, data are not restored, for kernels that do not need it.
    """
    batch = [
        _Repeater(body, reset=reset and body.kernel.name not in UNRESTORED_KERNELS)
        for body in bodies
    ]
    _run_together(batch, for_s)
    return [repeater.warm() for repeater in batch]


def thinned(times: ExecutionTimes) -> ExecutionTimes:
    """Return *times* without some of too many, evenly spaced."""
    count = len(times.wall_s)
    chosen = np.linspace(0, count - 1, min(count, MAX_KEPT))
    return times.only(chosen.astype(np.intp))


class _Repeater:
    """Repetitions of a kernel by one worker."""

    def __init__(self, body: Standalone, *, reset: bool = True) -> None:
        self.body = body
        self.reset: Callable[[], object] = body.reset if reset else lambda: None
        self.executions = TimedExecutions()
        self.times: ExecutionTimes
        self.error: Exception | None = None

    def warm(self) -> ExecutionTimes:
        """Return the times without the warm-up, if there are others."""
        dropped = WARM_UP_EXECUTIONS if len(self.executions) > WARM_UP_EXECUTIONS else 0
        return self.times.only(slice(dropped, None))

    def run(self, start: threading.Barrier, stop: threading.Event, core: int | None) -> None:
        pin_thread(core)
        with suppress(threading.BrokenBarrierError):  # the measurement was interrupted
            start.wait()
        reset, time, execute = self.reset, self.executions.time, self.body.run
        try:
            while not stop.is_set():
                reset()
                time(execute)
            self.times = self.executions.times()
        except Exception as error:
            self.error = error
            stop.set()


def _run_together(repeaters: list[_Repeater], for_s: float, *, pin: bool = True) -> None:
    """Run all *repeaters* at once for a while: each is the load of the others.

    Raise the first error of a kernel. No thread is left behind, however it ends.
    """
    cores = cores_for(len(repeaters)) if pin else None
    idle = idle_cores(len(repeaters)) if pin else None
    for number, of_core in enumerate(idle or ()):
        repeater = repeaters[number]
        repeater.executions = TimedExecutions(of_core, kernel=repeater.body.kernel.name)
    start, stop = threading.Barrier(len(repeaters) + 1), threading.Event()
    threads = [
        threading.Thread(target=r.run, args=(start, stop, cores[i] if cores else None), daemon=True)
        for i, r in enumerate(repeaters)
    ]
    for thread in threads:
        thread.start()
    try:
        start.wait()
        while (
            not stop.wait(for_s) and min(len(r.executions) for r in repeaters) <= WARM_UP_EXECUTIONS
        ):
            pass
    finally:
        stop.set()
        start.abort()
        for thread in threads:
            thread.join()
    for repeater in repeaters:
        if repeater.error is not None:
            raise repeater.error
