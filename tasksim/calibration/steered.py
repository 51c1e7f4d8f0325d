"""Steered measurement: short bursts of the kernel on which the makespan depends most.

A burst runs one kernel alone, on all workers. The bursts of a quarter of a second count as one run.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from tasksim.base.errors import InputError
from tasksim.base.units import duration_text
from tasksim.calibration.kernels_under_load import BATCH_S, Bursts, KernelCall
from tasksim.calibration.steering import Steering
from tasksim.kernels.dense import kernel_names
from tasksim.kernels.threads import single_threaded_blas
from tasksim.platform.description import Platform

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.calibration.calibration_options import CalibrationOptions
    from tasksim.calibration.kernel_samples import KernelSamples
    from tasksim.calibration.timed_executions import ExecutionTimes
    from tasksim.graph.taskgraph import TaskGraph

__all__ = ["Burst", "Steered", "check_steerable", "measure_steered"]


class Burst(Protocol):
    """Measures a kernel; returns the durations, and the time of the measurement."""

    def __call__(self, kernel: KernelCall, /) -> tuple[ExecutionTimes, float]:
        """Measure *kernel* for a moment."""


@dataclass
class Steered:
    """Result of a steered measurement: precision of the makespan, and the obstacle to more.

    Attributes
    ----------
    until
        Requested half-width of the mean makespan's interval, relative.
    half_width
        Reached half-width; infinite if it is not known yet.
    makespan_s
        Mean makespan of the simulations that steered.
    seconds
        Measuring time without simulations.
    bursts
        Number of bursts of each configuration.
    path_share
        Share of each configuration in the makespan.
    prevented
        Why the precision is less than requested; None if it is not.
    """

    until: float
    half_width: float = float("inf")
    makespan_s: float = 0.0
    seconds: float = 0.0
    bursts: dict[str, int] = field(default_factory=dict)
    path_share: dict[str, float] = field(default_factory=dict)
    prevented: str | None = "interrupted before anything was known"

    def text(self) -> str:
        """Return the result as text, in a line or two."""
        counts = ", ".join(f"{name} {count}" for name, count in self.bursts.items())
        found = "not known"
        if np.isfinite(self.half_width):
            found = f"{duration_text(self.makespan_s)}, its mean known to "
            found += _percent(self.half_width)
        line = (
            f"makespan {found} after {duration_text(self.seconds)} of measuring; bursts: {counts}"
        )
        return (
            line
            if self.prevented is None
            else f"{line}\nnot known to {_percent(self.until)}: {self.prevented}"
        )

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain data."""
        return {
            "until": self.until,
            "reached": self.prevented is None,
            "prevented": self.prevented,
            "half_width": self.half_width if np.isfinite(self.half_width) else None,
            "makespan_s": self.makespan_s,
            "measured_s": self.seconds,
            "bursts": self.bursts,
            "path_share": self.path_share,
        }


def check_steerable(graph: TaskGraph) -> None:
    """Raise :exc:`InputError` if a kernel of *graph* cannot be measured alone."""
    alone = kernel_names()
    others = [name for name in graph.model_names if name not in alone]
    if others:
        raise InputError(
            f"{', '.join(others)}: these kernels cannot be measured alone, so the makespan cannot "
            "steer their measurement; calibrate without it"
        )


def measure_steered(
    graph: TaskGraph,
    workers: int,
    collected: KernelSamples,
    options: CalibrationOptions,
    steered: Steered,
    after_burst: Callable[[str, float], None],
    burst: Burst | None = None,
) -> None:
    """Measure the kernels that the makespan of *graph* depends on until it is known or time is up.

    Samples are in *collected* at once, the result in *steered*; *after_burst* is called as in
    :func:`~tasksim.calibration.insitu.measure_in_situ`.
    """
    with single_threaded_blas():
        _measure(graph, workers, collected, options, steered, after_burst, burst)


def _measure(
    graph: TaskGraph,
    workers: int,
    collected: KernelSamples,
    options: CalibrationOptions,
    steered: Steered,
    after_burst: Callable[[str, float], None],
    burst: Burst | None,
) -> None:
    begun, run_begun = time.monotonic(), 0.0
    measure = burst or Bursts(workers, pin=options.pin)
    steering = Steering(
        graph,
        Platform.identical(workers),
        steered.until,
        confidence=options.confidence,
        scheduler=options.schedulers[0],
        seed=options.seed,
    )
    steering.add_earlier(collected.samples)
    while (one := steering.next()) is not None:
        times, seconds = measure(KernelCall(one.kernel, one.parameters))
        collected.add_executions(one.kernel, one.parameters, times)
        steering.add(one, times.own_s, seconds)
        if steering.seconds - run_begun >= BATCH_S:
            run_begun, collected.next_run = steering.seconds, collected.next_run + 1
        used = (time.monotonic() - begun) / options.max_seconds
        _note(steered, steering)
        after_burst(_progress(steering, str(one)), max(used, _way(steering)))
        # Whatever the time: without a burst of each kernel nothing could be predicted.
        if used >= 1 and min(steering.counts) > 0:
            steered.prevented = _prevented(steering, options.max_seconds)
            break
        steered.prevented = "interrupted"
    else:
        _note(steered, steering)
        steered.prevented = None
    collected.next_run += 1


def _note(steered: Steered, steering: Steering) -> None:
    names = [str(one) for one in steering.configurations]
    steered.half_width, steered.makespan_s = steering.half_width, steering.makespan_s
    steered.seconds = steering.seconds
    steered.bursts = dict(zip(names, steering.counts, strict=True))
    whole = steering.makespan_s or 1.0
    steered.path_share = dict(zip(names, (steering.path_s / whole).tolist(), strict=True))


def _progress(steering: Steering, what: str) -> str:
    if not np.isfinite(steering.half_width):
        return what
    known = _percent(steering.half_width)
    return f"{what}, makespan {duration_text(steering.makespan_s)} +- {known}"


def _way(steering: Steering) -> float:
    """Return the share of the measurement that is done: variances shrink as it goes on."""
    if not np.isfinite(steering.half_width) or not steering.half_width:
        return 0.0
    return min((steering.until / steering.half_width) ** 2, 1.0)


def _prevented(steering: Steering, seconds: float) -> str:
    if not np.isfinite(steering.half_width):
        return f"the time is over ({seconds:g} s) before each kernel was measured a few times"
    shares = steering.shares()
    most = int(shares.argmax())
    return (
        f"the time is over ({seconds:g} s); {100 * shares[most]:.0f} % of the variance is due to "
        f"{steering.configurations[most]}; about {duration_text(steering.seconds_to_go())} more "
        "of measuring would suffice if the machine stays as it is"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"
