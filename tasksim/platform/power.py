"""Power of a platform: what it draws, whatever it does, per architecture and kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tasksim.platform.description import Platform

__all__ = ["EXPONENT", "ArchitecturePower", "Frequency", "Power", "power_problems"]

EXPONENT: Final = 3.0
"""Default exponent of the power of a task over the frequency, idle power aside: power grows with
frequency times voltage squared, and voltage with frequency."""


@dataclass(frozen=True, slots=True)
class Frequency:
    """Clock frequency of an architecture, now and when its models were measured.

    Parameters
    ----------
    hz : float
        Its frequency.
    models_hz : float
        That at which the models say what kernels take.

    See Also
    --------
    Power : depends on it.

    Examples
    --------
    >>> Frequency(2.0e9, models_hz=2.5e9).slower
    1.25
    """

    hz: float
    models_hz: float

    @property
    def slower(self) -> float:
        """Factor on the modelled duration of a kernel that only computes."""
        return self.models_hz / self.hz


@dataclass(frozen=True, slots=True)
class ArchitecturePower:
    """Power of a worker of an architecture, in watts.

    Parameters
    ----------
    idle_w : float
        While it runs no task.
    busy_w : float
        While it runs a task, idleness included.
    kernels : dict[str, float], default {}
        The same while it runs tasks of these kernels.
    exponent : float, default 3.0
        What a task draws beside idleness goes with this power of the frequency.

    See Also
    --------
    Power : has one per architecture.

    Examples
    --------
    >>> core = ArchitecturePower(idle_w=1.0, busy_w=9.0, kernels={"gemm": 11.0})
    >>> core.of("gemm"), core.of("trsm"), core.at(0.5).of("trsm")
    (11.0, 9.0, 2.0)
    """

    idle_w: float
    busy_w: float
    kernels: dict[str, float] = field(default_factory=dict)
    exponent: float = EXPONENT

    def of(self, kernel: str) -> float:
        """Return what a task of *kernel* draws, idleness included."""
        return self.kernels.get(kernel, self.busy_w)

    def at(self, ratio: float) -> ArchitecturePower:
        """Return what it draws at *ratio* times the frequency."""
        scale, idle = ratio**self.exponent, self.idle_w
        kernels = {name: idle + (watts - idle) * scale for name, watts in self.kernels.items()}
        busy = idle + (self.busy_w - idle) * scale
        return ArchitecturePower(idle, busy, kernels, self.exponent)


@dataclass(frozen=True, slots=True)
class Power:
    """Power of a machine, in watts, at the frequency of its models.

    Parameters
    ----------
    static_w : float, default 0.0
        Per node, whatever runs: memory, fans, what no worker is asked about.
    architectures : dict[str, ArchitecturePower], default {}
        Per architecture what each of its workers draws.

    See Also
    --------
    tasksim.run.energy.energy : what a run has used.

    Examples
    --------
    >>> Power(30.0, {"cpu": ArchitecturePower(1.0, 9.0)}).static_w
    30.0
    """

    static_w: float = 0.0
    architectures: dict[str, ArchitecturePower] = field(default_factory=dict)


def power_problems(platform: Platform) -> Iterator[str]:
    """Yield what is wrong with the frequencies and the power of *platform*."""
    for name, frequency in platform.frequencies.items():
        if not all(isfinite(hz) and hz > 0 for hz in (frequency.hz, frequency.models_hz)):
            yield f"architecture {name} has frequency {frequency.hz} Hz, must be positive"
    named = {f"link {link.name}": link.power_w for link in platform.links}
    if platform.power is None:
        drawing = [name for name, watts in named.items() if watts]
        if drawing:
            yield f"{drawing[0]} draws power, of workers nothing is said: add a section `power:`"
        return
    named |= {"static": platform.power.static_w}
    for name, power in platform.power.architectures.items():
        named |= {f"idle {name}": power.idle_w, f"busy {name}": power.busy_w}
        named |= {f"{name} with {kernel}": watts for kernel, watts in power.kernels.items()}
        for what, watts in {"busy": power.busy_w, **power.kernels}.items():
            if watts < power.idle_w:
                yield f"{name} draws {watts} W ({what}), less than when idle ({power.idle_w} W)"
    for name, watts in named.items():
        if not (isfinite(watts) and watts >= 0):
            yield f"power of {name} is {watts} W, must be 0 or more"
    for name in platform.architectures:
        if name not in platform.power.architectures:
            yield f"power says nothing of architecture {name}: of all workers or of none"
