"""Power of this machine, by its own counters: idle, and while all workers run a kernel."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.errors import TasksimError
from tasksim.base.units import exact_quantity
from tasksim.calibration.kernels_under_load import run_beside
from tasksim.kernels.standalone import standalone
from tasksim.kernels.threads import single_threaded_blas

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from tasksim.calibration.kernels_under_load import KernelCall
    from tasksim.native.energymeter import EnergyMeter

    Load = Callable[[KernelCall, int, float], float]
    """Runs a kernel on so many workers for so many seconds; returns what an execution took."""

__all__ = ["KernelPower", "MachinePower", "busy_workers", "measure_power", "write_power"]

WINDOW_S: Final = 1.0
"""Counters are brought up to date about every millisecond: of a second that is a thousandth."""
ROUNDS: Final = 3
"""Medians of so many: what others do on the machine counts, too."""
UNREST: Final = 1.1
"""Idle windows that differ by more are said: somebody else was busy."""
ARCHITECTURE: Final = "cpu"


@dataclass(frozen=True)
class KernelPower:
    """What a worker draws beside idleness while it runs a kernel.

    Attributes
    ----------
    kernel : str
    parameters : mapping of str to float
    watts : float
        Of one worker.
    duration_s : float
        Of an execution, in the mean.
    """

    kernel: str
    parameters: Mapping[str, float]
    watts: float
    duration_s: float

    @property
    def joules(self) -> float:
        """What an execution uses beside idleness."""
        return self.watts * self.duration_s


@dataclass(frozen=True)
class MachinePower:
    """What a machine draws.

    Attributes
    ----------
    idle_w : mapping of str to float
        Each package, and its memory, while nothing runs.
    kernels : tuple of KernelPower
    notes : tuple of str
    """

    idle_w: Mapping[str, float]
    kernels: tuple[KernelPower, ...] = ()
    notes: tuple[str, ...] = field(default=())

    def section(self) -> dict[str, Any]:
        """Return what a platform file has of it: all idleness is static, workers add the rest."""
        names = dict.fromkeys(found.kernel for found in self.kernels)
        watts = {n: fmean(k.watts for k in self.kernels if k.kernel == n) for n in names}
        kernels = {name: _rounded(value) for name, value in watts.items()}
        busy = _rounded(fmean(watts.values())) if watts else "0 W"
        cpu = {"idle": "0 W", "busy": busy, "kernels": kernels}
        return {"static": _rounded(sum(self.idle_w.values())), "arch": {ARCHITECTURE: cpu}}


def measure_power(
    kernels: Sequence[KernelCall],
    workers: int,
    meter: EnergyMeter,
    *,
    load: Load | None = None,
    clock: Callable[[], float] = time.perf_counter,
    rest: Callable[[float], None] = time.sleep,
    progress: Callable[[str, float], None] | None = None,
) -> MachinePower:
    """Return what this machine draws while idle, and while all *workers* run each of *kernels*.

    Raises :exc:`TasksimError` if the counters stand still, as some virtual machines have them.
    """
    load = load or busy_workers
    idle: list[dict[str, float]] = []
    drawn: dict[int, list[tuple[float, float]]] = {number: [] for number in range(len(kernels))}
    for done in range(ROUNDS):
        meter.start()
        begun = clock()
        rest(WINDOW_S)
        idle.append(_watts(meter, clock() - begun))
        for number, kernel in enumerate(kernels):
            if progress is not None:
                progress(kernel.name, (done + number / len(kernels)) / ROUNDS)
            meter.start()
            begun = clock()
            duration_s = load(kernel, workers, WINDOW_S)
            watts = sum(_watts(meter, clock() - begun).values())
            drawn[number].append((watts, duration_s))
    idle_w = {name: median(window[name] for window in idle) for name in idle[0]}
    totals = [sum(window.values()) for window in idle]
    if not any(totals) and not any(watts for seen in drawn.values() for watts, _ in seen):
        raise TasksimError(
            "the counters of energy stand still, as in some virtual machines; write power: in the "
            "platform file instead"
        )
    found = [
        _kernel(kernel, drawn[number], sum(idle_w.values()), workers)
        for number, kernel in enumerate(kernels)
    ]
    return MachinePower(idle_w, tuple(found), tuple(_notes(totals, found)))


def busy_workers(kernel: KernelCall, workers: int, for_s: float) -> float:
    """Run *kernel* on so many workers for so long; return what an execution took in the mean."""
    parameters = dict(kernel.parameters)
    bodies = [standalone(kernel.name, parameters, seed=worker) for worker in range(workers)]
    with single_threaded_blas():
        return fmean(float(times.own_s.mean()) for times in run_beside(bodies, for_s=for_s))


def write_power(path: Path, found: MachinePower) -> None:
    """Write what was *found* to the platform file at *path*, whose other sections remain.

    So do other architectures, and kernels that were not measured this time.
    """
    import yaml

    from tasksim.base.files import read_text
    from tasksim.platform.load import dump

    known: dict[str, Any] = {"workers": {ARCHITECTURE: {"count": os.cpu_count() or 1}}}
    comment = "Written by `tasksim calibrate power`."
    if path.exists():
        text = read_text(path)
        known = yaml.safe_load(text) or {}
        first = text.partition("\n")[0]
        comment = first[1:].strip() if first.startswith("#") else comment
    section, before = found.section(), (known.get("power") or {}).get("arch") or {}
    cpu = section["arch"][ARCHITECTURE]
    cpu["kernels"] = {**((before.get(ARCHITECTURE) or {}).get("kernels") or {}), **cpu["kernels"]}
    section["arch"] = {**before, ARCHITECTURE: cpu}
    dump({"name": path.stem, **known, "power": section}, path, comment=comment)


def _watts(meter: EnergyMeter, seconds: float) -> dict[str, float]:
    return {name: 1e-6 * used / seconds for name, used in meter.used_uj().items()}


def _kernel(
    kernel: KernelCall, seen: Sequence[tuple[float, float]], idle_w: float, workers: int
) -> KernelPower:
    watts = max(0.0, median(watts for watts, _ in seen) - idle_w) / workers
    return KernelPower(kernel.name, kernel.parameters, watts, median(d for _, d in seen))


def _notes(idle: Sequence[float], kernels: Sequence[KernelPower]) -> list[str]:
    notes = []
    if min(idle) and max(idle) > UNREST * min(idle):
        notes.append(
            f"idle: {min(idle):.3g} to {max(idle):.3g} W: others used the machine; measure again"
        )
    notes += [
        f"{found.kernel} draws no more than an idle machine: others used it; measure again"
        for found in kernels
        if not found.watts
    ]
    return notes


def _rounded(watts: float) -> str:
    """Return watts with four digits: more were not measured."""
    return exact_quantity(float(f"{watts:.4g}"), "power")
