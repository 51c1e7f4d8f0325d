"""Power of this machine by its counters, both idle and while all workers run a kernel."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.errors import TasksimError
from tasksim.calibration.kernels_under_load import run_beside
from tasksim.calibration.write_library import ARCHITECTURE, known_sections, rounded_quantity
from tasksim.kernels.threads import single_threaded_blas
from tasksim.platform.load import dump

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tasksim.base.progress import ShareProgress
    from tasksim.calibration.kernels_under_load import KernelCall
    from tasksim.native.energymeter import EnergyMeter

    Load = Callable[[KernelCall, int, float], float]
    """Runs a kernel on some workers for some seconds; returns the mean duration of an execution."""

__all__ = ["KernelPower", "MachinePower", "busy_workers", "measure_power", "write_power"]

WINDOW_S: Final = 1.0
"""Duration of a measurement in seconds: counters are updated about every millisecond, a thousandth
of it."""
WINDOW_COUNT: Final = 3
"""Number of measurements, of which the median counts: other programs use energy, too."""
MAX_IDLE_RATIO: Final = 1.1
"""Ratio of idle measurements from which another program is reported as busy."""


@dataclass(frozen=True)
class KernelPower:
    """Power of a worker that runs a kernel, in addition to idle power.

    Attributes
    ----------
    kernel : str
    parameters : mapping of str to float
    watts : float
        Additional power of one worker.
    duration_s : float
        Mean duration of an execution.
    """

    kernel: str
    parameters: Mapping[str, float]
    watts: float
    duration_s: float

    @property
    def joules(self) -> float:
        """Energy of an execution in addition to idle energy."""
        return self.watts * self.duration_s


@dataclass(frozen=True)
class MachinePower:
    """Power of a machine.

    Attributes
    ----------
    idle_w : mapping of str to float
        Power of each package and its memory while nothing runs.
    kernels : tuple of KernelPower
    notes : tuple of str
    """

    idle_w: Mapping[str, float]
    kernels: tuple[KernelPower, ...] = ()
    notes: tuple[str, ...] = field(default=())

    def section(self) -> dict[str, Any]:
        """Return the section of a platform file: idle power is static, workers add the rest."""
        names = dict.fromkeys(found.kernel for found in self.kernels)
        watts = {n: fmean(k.watts for k in self.kernels if k.kernel == n) for n in names}
        kernels = {name: rounded_quantity(value, "power") for name, value in watts.items()}
        busy = rounded_quantity(fmean(watts.values()), "power") if watts else "0 W"
        static = rounded_quantity(sum(self.idle_w.values()), "power")
        cpu = {"idle": "0 W", "busy": busy, "kernels": kernels}
        return {"static": static, "arch": {ARCHITECTURE: cpu}}


def measure_power(
    kernels: Sequence[KernelCall],
    workers: int,
    meter: EnergyMeter,
    *,
    load: Load | None = None,
    clock: Callable[[], float] = time.perf_counter,
    rest: Callable[[float], None] = time.sleep,
    progress: ShareProgress | None = None,
) -> MachinePower:
    """Return the power of this machine while idle, and while *workers* run each of *kernels*.

    Raise :exc:`TasksimError` if the counters do not change, as in some virtual machines.
    """
    load = load or busy_workers
    idle: list[dict[str, float]] = []
    drawn: dict[int, list[tuple[float, float]]] = {number: [] for number in range(len(kernels))}
    for done in range(WINDOW_COUNT):
        meter.start()
        begun = clock()
        rest(WINDOW_S)
        idle.append(_watts(meter, clock() - begun))
        for number, kernel in enumerate(kernels):
            if progress is not None:
                progress(kernel.name, (done + number / len(kernels)) / WINDOW_COUNT)
            meter.start()
            begun = clock()
            duration_s = load(kernel, workers, WINDOW_S)
            watts = sum(_watts(meter, clock() - begun).values())
            drawn[number].append((watts, duration_s))
    idle_w = {name: median(window[name] for window in idle) for name in idle[0]}
    totals = [sum(window.values()) for window in idle]
    if not any(totals) and not any(watts for seen in drawn.values() for watts, _ in seen):
        raise TasksimError(
            "the energy counters do not change, as in some virtual machines; write power: in the "
            "platform file instead"
        )
    found = []
    for number, kernel in enumerate(kernels):
        total_w, duration_s = map(median, zip(*drawn[number], strict=True))
        own_w = max(0.0, total_w - sum(idle_w.values())) / workers
        found.append(KernelPower(kernel.name, kernel.parameters, own_w, duration_s))
    return MachinePower(idle_w, tuple(found), tuple(_notes(totals, found)))


def busy_workers(kernel: KernelCall, workers: int, for_s: float) -> float:
    """Run *kernel* on *workers* workers for a time; return the mean duration of an execution."""
    with single_threaded_blas():
        all_times = run_beside(kernel.bodies(workers), for_s=for_s)
    return fmean(float(times.own_s.mean()) for times in all_times)


def write_power(path: Path, found: MachinePower) -> None:
    """Write *found* to the platform file at *path*; its other sections stay.

    So do other architectures, and kernels that were not measured this time.
    """
    known, comment = known_sections(path, "Written by `tasksim calibrate power`.")
    section, before = found.section(), (known.get("power") or {}).get("arch") or {}
    cpu = section["arch"][ARCHITECTURE]
    cpu["kernels"] = {**((before.get(ARCHITECTURE) or {}).get("kernels") or {}), **cpu["kernels"]}
    section["arch"] = {**before, ARCHITECTURE: cpu}
    dump({**known, "power": section}, path, comment=comment)


def _watts(meter: EnergyMeter, seconds: float) -> dict[str, float]:
    return {name: 1e-6 * used / seconds for name, used in meter.used_uj().items()}


def _notes(idle: Sequence[float], kernels: Sequence[KernelPower]) -> list[str]:
    notes = []
    if min(idle) and max(idle) > MAX_IDLE_RATIO * min(idle):
        notes.append(
            f"idle: {min(idle):.3g} to {max(idle):.3g} W: others used the machine; measure again"
        )
    notes += [
        f"{found.kernel} draws no more than an idle machine: others used it; measure again"
        for found in kernels
        if not found.watts
    ]
    return notes
