"""Power of a platform, static and per architecture and kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

__all__ = ["POWER_EXPONENT", "ArchitecturePower", "Frequency", "Power"]

POWER_EXPONENT: Final = 3.0
"""Default exponent of a task's power, beside idle power, over the frequency: power grows with
frequency times voltage squared, and voltage with frequency."""


@dataclass(frozen=True, slots=True)
class Frequency:
    """Clock frequency of an architecture, now and when its models were measured.

    Parameters
    ----------
    hz : float
        The frequency.
    models_hz : float
        The frequency of the models' durations.

    See Also
    --------
    Power : The power, which depends on the frequency.

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
        Power without a task.
    busy_w : float
        Power during a task, including idle power.
    kernels : dict[str, float], default {}
        Kernel -> power during its tasks, including idle power.
    exponent : float, default 3.0
        Exponent of a task's power, beside idle power, over the frequency.

    See Also
    --------
    Power : The power of a machine, by architecture.

    Examples
    --------
    >>> core = ArchitecturePower(idle_w=1.0, busy_w=9.0, kernels={"gemm": 11.0})
    >>> core.of("gemm"), core.of("trsm"), core.at(0.5).of("trsm")
    (11.0, 9.0, 2.0)
    """

    idle_w: float
    busy_w: float
    kernels: dict[str, float] = field(default_factory=dict)
    exponent: float = POWER_EXPONENT

    def of(self, kernel: str) -> float:
        """Return the power during a task of *kernel*, including idle power."""
        return self.kernels.get(kernel, self.busy_w)

    def at(self, ratio: float) -> ArchitecturePower:
        """Return the power at *ratio* times the frequency."""
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
        Constant power per node: memory, fans and other parts.
    architectures : dict[str, ArchitecturePower], default {}
        Architecture -> power of each of its workers.

    See Also
    --------
    tasksim.run.energy.energy : The energy of a run.

    Examples
    --------
    >>> Power(30.0, {"cpu": ArchitecturePower(1.0, 9.0)}).static_w
    30.0
    """

    static_w: float = 0.0
    architectures: dict[str, ArchitecturePower] = field(default_factory=dict)
