"""Kernels under load: one is measured by itself, on every worker with data of its own."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from tasksim.kernels.standalone import standalone
from tasksim.kernels.threads import single_threaded_blas
from tasksim.native.cores import pin_thread, usable_cores

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from tasksim.calibration.calibration_options import CalibrationOptions
    from tasksim.calibration.kernel_samples import KernelSamples
    from tasksim.kernels.standalone import Standalone

__all__ = ["KernelCall", "measure_under_load"]

BATCH_S = 0.25
"""How long the workers run between two looks at whether it is enough."""
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
            names = tuple(kernel.parameters)
            row = np.array([[kernel.parameters[name] for name in names]], dtype=np.float64)
            kernel_begun = time.monotonic()
            while True:
                batch = [_Repeater(body) for body in bodies]
                _run_together(batch, cores if options.pin and workers <= len(cores) else None)
                for repeater in batch:
                    times = repeater.kept()
                    table = np.repeat(row, len(times), axis=0)
                    collected.add(kernel.name, names, table, times, "by itself")
                collected.next_run += 1
                after_round(kernel.name, (time.monotonic() - begun) / options.max_seconds)
                if time.monotonic() - kernel_begun >= share or _known(collected, kernel, options):
                    break


def _known(collected: KernelSamples, kernel: KernelCall, options: CalibrationOptions) -> bool:
    mine = [
        c
        for c in collected.configurations(options)
        if c.kernel == kernel.name and c.parameters == dict(kernel.parameters)
    ]
    return all(c.stopped == "tolerance" for c in mine)


class _Repeater:
    """One worker's repetitions of a kernel."""

    def __init__(self, body: Standalone) -> None:
        self.body = body
        self.times: list[float] = []
        self.error: Exception | None = None

    def kept(self) -> NDArray[np.float64]:
        """Return the times that count: without the first, and not too many."""
        times = np.array(self.times[WARM_UP:] or self.times)
        chosen = np.linspace(0, len(times) - 1, min(len(times), MOST_KEPT))
        return times[chosen.astype(np.intp)]

    def run(self, start: threading.Barrier, stop: threading.Event, core: int | None) -> None:
        pin_thread(core)
        with suppress(threading.BrokenBarrierError):  # the measuring was interrupted
            start.wait()
        try:
            self._repeat(stop)
        except Exception as error:
            self.error = error
            stop.set()

    def _repeat(self, stop: threading.Event) -> None:
        reset, execute = self.body.reset, self.body.run
        while not stop.is_set():
            reset()
            begun = perf_counter()
            execute()
            self.times.append(perf_counter() - begun)


def _run_together(repeaters: list[_Repeater], cores: list[int] | None) -> None:
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
        while not stop.wait(BATCH_S) and min(len(r.times) for r in repeaters) <= WARM_UP:
            pass
    finally:
        stop.set()
        start.abort()
        for thread in threads:
            thread.join()
    for repeater in repeaters:
        if repeater.error is not None:
            raise repeater.error
