"""The direct sum over all particles for chosen ones, as the reference for the method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import InputError
from tasksim.kernels.fmm.p2p import on_points, one_sided

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["direct", "due_to"]


def direct(
    positions: NDArray[np.float64],
    charges: NDArray[np.float64],
    targets: NDArray[np.integer],
) -> NDArray[np.float64]:
    """Return potentials and forces at chosen particles due to all particles.

    Parameters
    ----------
    positions : float64 array [d, n]
    charges : float64 array [n]
    targets : integer array [m]
        The numbers of the chosen particles.

    Returns
    -------
    float64 array [1 + d, m]
        The potential of 1/r (3-D) or -log r (2-D), then the components of the force: charge
        times minus the gradient of the potential.

    Raises
    ------
    InputError
        If a target is not the number of a particle.
    """
    chosen = np.ascontiguousarray(targets, dtype=np.int64)
    if len(chosen) and not (chosen.min() >= 0 and chosen.max() < len(charges)):
        raise InputError(
            f"targets: got {chosen.min()} to {chosen.max()}; "
            f"legal: numbers from 0 to {len(charges) - 1}"
        )
    result = np.zeros((1 + len(positions), len(chosen)))
    on_points(np.ascontiguousarray(positions), np.ascontiguousarray(charges), chosen, result)
    return result


def due_to(
    positions: NDArray[np.float64], charges: NDArray[np.float64], points: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return potentials and forces that some particles cause at *points*.

    Parameters
    ----------
    positions : float64 array [d, n]
    charges : float64 array [n]
    points : float64 array [d + 1, m]
        Positions, then the charges that forces act on.

    Returns
    -------
    float64 array [1 + d, m]
        Potentials and forces as in :func:`direct`. They are additive: the sum over disjoint sets of
        particles is the result for all of them.
    """
    count, chosen = len(charges), points.shape[1]
    everywhere = np.hstack([positions, points[:-1]])
    every_charge = np.append(charges, points[-1])
    result = np.zeros((1 + len(positions), count + chosen))
    offsets = np.array([0, count, count + chosen])
    one_sided(everywhere, every_charge, offsets, np.array([1]), np.array([0]), result)
    return result[:, count:]
