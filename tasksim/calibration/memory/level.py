"""Measured level of memory: its size, latency and bandwidth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tasksim.base.units import exact_quantity

__all__ = ["Level"]


@dataclass(frozen=True)
class Level:
    """A measured level of memory.

    Attributes
    ----------
    name
        ``l1``, ``l2``, ``l3``, ``memory``.
    size_bytes
        Size reported by the system; None for memory.
    latency_s
        Latency of an access that depends on the one before.
    bandwidth_bytes_per_s
        Total bandwidth of 1, 2, ... cores.
    cores
        Number of cores that share it.
    unrest
        Median of the latencies divided by the least.
    """

    name: str
    size_bytes: int | None
    latency_s: float
    bandwidth_bytes_per_s: tuple[float, ...]
    cores: int
    unrest: float

    def section(self) -> dict[str, Any]:
        """Return its section of a platform file."""
        size = {} if self.size_bytes is None else {"size": exact_quantity(self.size_bytes, "size")}
        rates = [_rounded(rate, "bandwidth") for rate in self.bandwidth_bytes_per_s]
        latency = _rounded(self.latency_s, "time")
        return {**size, "latency": latency, "bandwidth": rates, "cores": self.cores}


def _rounded(value: float, dimension: Any) -> str:
    """Return a quantity with four digits: measurements have no more."""
    return exact_quantity(float(f"{value:.4g}"), dimension)
