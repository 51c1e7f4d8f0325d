"""Frequency: how much longer tasks take at another clock than their models were measured at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tasksim.models.contention import Contended

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tasksim.engine.durations import Models
    from tasksim.models.contention import Contention
    from tasksim.models.kernelmodel import KernelModel

__all__ = ["contention_of", "stretch"]


def contention_of(models: Models, kernel: str, architecture: str) -> Contention | None:
    """Return what is known of how neighbours slow *kernel* down; None if nothing is."""
    return models.contention(kernel, architecture) if isinstance(models, Contended) else None


def stretch(
    model: KernelModel,
    table: NDArray[np.float64],
    rows: NDArray[np.integer],
    slower: float,
    contention: Contention | None = None,
) -> float | NDArray[np.float64]:
    """Return by what the durations of tasks are multiplied, all alike or one by one.

    What computes takes *slower* times as long, what waits for memory as long as ever: with the
    share c of the first, ``c * slower + 1 - c`` (Ding et al., "APMT", the equation of T_app: only
    CPI times instructions has the frequency in it). Where neither the model nor the *contention*
    of its kernel knows the share, all is taken for computing;
    :func:`tasksim.scenario.advice.taken_for_computing` says so.

    >>> from tasksim.models.kinds.constant import ConstantModel
    >>> stretch(ConstantModel(1.0), None, None, slower=2.0)
    2.0
    """
    from tasksim.models.computeshare import compute_share

    share = compute_share(model, table, contention)
    if share is None:
        return slower
    found: NDArray[np.float64] = 1.0 + (share * (slower - 1.0))[rows]
    return found
