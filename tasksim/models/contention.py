"""Slowdown of a kernel by tasks on cores that share its memory.

Measured slowdowns take precedence: factors on the kernel's duration beside one, two, ... tasks of
another kernel. Other slowdowns follow from the bandwidth of the shared memory: a kernel that runs
alone demands some bytes per second and spends a share of its time waiting for them,

    stretch = (1 - memory share) + memory share * max(1, total demand / bandwidth)

as implemented by :class:`tasksim.engine.slowing.Slowing`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from tasksim.base.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tasksim.base.arrays import Floats
    from tasksim.models.kernelmodel import KernelModel

__all__ = ["Contended", "Contention", "KnowsComputing", "compute_share"]


@dataclass(frozen=True)
class Contention:
    """Contention of one kernel on one architecture with its neighbours for memory and cores.

    Parameters
    ----------
    demand_bytes_per_s : float, default 0.0
        Traffic between memory and caches when the kernel runs alone.
    memory_share : float, default 0.0
        The share of its duration that grows when memory is slower.
    beside : mapping of str -> tuple of float
        Neighbour kernel -> slowdown factors beside one, two, ... of its tasks.

    Raises
    ------
    InputError
        If a number is negative, a share is more than 1, or a factor is less than 1.

    See Also
    --------
    tasksim.platform.parts.MemoryDomain : the cores that share a memory, and its bandwidth.

    Examples
    --------
    >>> Contention(2e9, 0.2, {"lacpy": (1.13,)}).beside["lacpy"]
    (1.13,)
    """

    demand_bytes_per_s: float = 0.0
    memory_share: float = 0.0
    beside: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not _number(self.demand_bytes_per_s, 0):
            got = f"got {self.demand_bytes_per_s!r}"
            raise InputError(f"contention: demand_bytes_per_s must be at least 0 ({got})")
        if not (_number(self.memory_share, 0) and self.memory_share <= 1):
            got = f"got {self.memory_share!r}"
            raise InputError(f"contention: memory_share must be from 0 to 1 ({got})")
        for kernel, factors in self.beside.items():
            if not factors or not all(_number(factor, 1) for factor in factors):
                what = f"beside {kernel}: factors of at least 1 (got {list(factors)!r})"
                raise InputError(f"contention: {what}")

    def to_json(self) -> dict[str, Any]:
        """Return the contention as plain data."""
        return {
            "demand_bytes_per_s": self.demand_bytes_per_s,
            "memory_share": self.memory_share,
            "beside": {kernel: list(factors) for kernel, factors in sorted(self.beside.items())},
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Contention:
        """Read what :meth:`to_json` returned; raise :exc:`InputError` for a wrong key."""
        beside = data.get("beside", {})
        if not isinstance(beside, dict) or not all(isinstance(f, list) for f in beside.values()):
            raise InputError("contention: beside: kernel -> a list of factors")
        given = {**data, "beside": {kernel: tuple(given) for kernel, given in beside.items()}}
        try:
            return cls(**given)
        except TypeError as error:
            raise InputError(f"contention: {error}") from None


def _number(value: object, least: float) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and isfinite(value)
        and value >= least
    )


@runtime_checkable
class Contended(Protocol):
    """Models with the slowdown of kernels by neighbours."""

    def contention(self, kernel: str, architecture: str) -> Contention | None:
        """Return the contention of *kernel*; None if it is unknown."""


@runtime_checkable
class KnowsComputing(Protocol):
    """A kernel model that separates computing from waiting for memory."""

    def compute_share(self, parameters: Floats) -> Floats:
        """Return the share of the duration that scales with the clock, 0 to 1, per row."""


def compute_share(
    model: KernelModel, table: Floats, contention: Contention | None = None
) -> Floats | None:
    """Return the share of the duration that scales with the clock, per row of *table*.

    The rest is spent waiting for memory, which has its own clock. If the *model* cannot separate
    the two, the memory share of the kernel's *contention* is used. None if neither is known.
    """
    if isinstance(model, KnowsComputing):
        return model.compute_share(table)
    if contention is None or not contention.memory_share:
        return None
    return np.full(len(table), 1.0 - contention.memory_share)
