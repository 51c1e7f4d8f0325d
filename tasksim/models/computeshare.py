"""Compute share: which part of a kernel's duration goes with the clock, and not with memory."""

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
    """A kernel model that tells computing from waiting for memory."""

    def compute_share(self, parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return per row the share of the duration, 0 to 1, that goes with the clock."""


def compute_share(
    model: KernelModel, table: NDArray[np.float64], contention: Contention | None = None
) -> NDArray[np.float64] | None:
    """Return per row of *table* which share of the duration goes with the clock.

    The rest waits for memory, which has a clock of its own. If the *model* cannot tell the two
    apart, the *contention* of its kernel may: what grows when memory is slower. None: nobody knows.
    """
    if isinstance(model, KnowsComputing):
        return model.compute_share(table)
    if contention is None or not contention.memory_share:
        return None
    return np.full(len(table), 1.0 - contention.memory_share)
