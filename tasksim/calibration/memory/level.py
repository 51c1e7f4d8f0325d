"""Level of memory: its size, latency and bandwidth, as measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tasksim.base.units import exact_quantity

__all__ = ["Level"]


@dataclass(frozen=True)
class Level:
    """A level of memory, measured.

    Attributes
    ----------
    name
        ``l1``, ``l2``, ``l3``, ``memory``.
    size_bytes
        As the system tells; None for memory.
    latency_s
        Of an access that depends on the one before.
    bandwidth_bytes_per_s
        Of 1, 2, ... cores together.
    cores
        How many share it.
    unrest
        The median of the latencies over the least.
    """

    name: str
    size_bytes: int | None
    latency_s: float
    bandwidth_bytes_per_s: tuple[float, ...]
    cores: int
    unrest: float

    def section(self) -> dict[str, Any]:
        """Return what a platform file has of it."""
        size = {} if self.size_bytes is None else {"size": exact_quantity(self.size_bytes, "size")}
        rates = [_rounded(rate, "bandwidth") for rate in self.bandwidth_bytes_per_s]
        latency = _rounded(self.latency_s, "time")
        return {**size, "latency": latency, "bandwidth": rates, "cores": self.cores}


def _rounded(value: float, dimension: Any) -> str:
    """Return a quantity with four digits: more were not measured."""
    return exact_quantity(float(f"{value:.4g}"), dimension)
