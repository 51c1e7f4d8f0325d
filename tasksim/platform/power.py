"""Power of a platform, static and per architecture and kernel."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

__all__ = ["EXPONENT", "ArchitecturePower", "Frequency", "Power"]

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
