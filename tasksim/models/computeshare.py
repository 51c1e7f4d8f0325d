"""Compute share: the part of a kernel's duration that scales with the clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.models.contention import Contention
    from tasksim.models.kernelmodel import KernelModel

__all__ = ["KnowsComputing", "compute_share"]


@runtime_checkable
class KnowsComputing(Protocol):
    """A kernel model that separates computing from waiting for memory."""

    def compute_share(self, parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the share of the duration that scales with the clock, 0 to 1, per row."""


def compute_share(
    model: KernelModel, table: NDArray[np.float64], contention: Contention | None = None
) -> NDArray[np.float64] | None:
    """Return the share of the duration that scales with the clock, per row of *table*.

    The rest is spent waiting for memory, which has its own clock. If the *model* cannot separate
    the two, the memory share of the kernel's *contention* is used. None if neither is known.
    """
    if isinstance(model, KnowsComputing):
        return model.compute_share(table)
    if contention is None or not contention.memory_share:
        return None
    return np.full(len(table), 1.0 - contention.memory_share)
