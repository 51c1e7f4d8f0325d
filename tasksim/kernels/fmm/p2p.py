"""Particles on particles of leaves that touch (P2P): potentials and forces, summed directly.

Each evaluation of the kernel serves one particle of the pair only. To use it for both halves the
square roots and divisions, but then all sums go through memory instead of registers: on AVX2 that
was slower for leaves of up to 40 particles, and a tenth faster for leaves of 200. So one loop does
all.

A particle does not act on itself, nor do particles of equal position on each other.
"""

from __future__ import annotations

from math import inf, log, sqrt
from typing import TYPE_CHECKING

import numpy as np

from tasksim.kernels.fmm.compiled import INDICES, REALS, RESULT, TABLE, inlined, loop

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["on_points", "one_sided", "symmetric", "within"]


def one_sided(
    positions: NDArray[np.float64],
    charges: NDArray[np.float64],
    offsets: NDArray[np.int64],
    targets: NDArray[np.integer],
    sources: NDArray[np.integer],
    result: NDArray[np.float64],
) -> None:
    """Add to particles of target leaves what the particles of source leaves do to them.

    Parameters
    ----------
    positions : float64 array [d, n]
    charges : float64 array [n]
    offsets : int64 array [leaves + 1]
        Particles ``offsets[i]`` to ``offsets[i + 1] - 1`` are in leaf i.
    targets, sources : int64 array [pairs]
        Leaves, a pair of them each; other integers are converted.
    result : float64 array [1 + d, n]
        Potentials, then the components of forces; added to.
    """
    target, source = np.asarray(targets, np.int64), np.asarray(sources, np.int64)
    _one_sided(positions, charges, offsets, target, source, result)


def symmetric(
    positions: NDArray[np.float64],
    charges: NDArray[np.float64],
    offsets: NDArray[np.int64],
    targets: NDArray[np.integer],
    sources: NDArray[np.integer],
    result: NDArray[np.float64],
) -> None:
    """Add to particles of either leaf of each pair what those of the other do to them.

    The parameters are those of :func:`one_sided`; a leaf paired with itself would count twice.
    """
    one_sided(positions, charges, offsets, targets, sources, result)
    one_sided(positions, charges, offsets, sources, targets, result)


def within(
    positions: NDArray[np.float64],
    charges: NDArray[np.float64],
    offsets: NDArray[np.int64],
    leaves: NDArray[np.integer],
    result: NDArray[np.float64],
) -> None:
    """Add to the particles of each of the *leaves* what the others of the same leaf do to them.

    The other parameters are those of :func:`one_sided`.
    """
    one_sided(positions, charges, offsets, leaves, leaves, result)


def on_points(
    positions: NDArray[np.float64],
    charges: NDArray[np.float64],
    targets: NDArray[np.int64],
    result: NDArray[np.float64],
) -> None:
    """Add to chosen particles what all particles do to them.

    Parameters
    ----------
    positions, charges
        As of :func:`one_sided`.
    targets : int64 array [m]
        The numbers of the chosen particles.
    result : float64 array [1 + d, m]
        Potentials, then the components of forces; added to.
    """
    _on_points(positions, charges, targets, result)


@inlined
def _sums_3d(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    z: NDArray[np.float64],
    charges: NDArray[np.float64],
    at: NDArray[np.float64],
) -> tuple[float, float, float, float]:
    """Return the potential at a point and minus its gradient: of 1/r."""
    potential = fx = fy = fz = 0.0
    for j in range(len(charges)):
        dx, dy, dz = at[0] - x[j], at[1] - y[j], at[2] - z[j]
        square = dx * dx + dy * dy + dz * dz
        inverse = 1 / sqrt(square if square > 0 else inf)
        term = charges[j] * inverse
        potential += term
        term *= inverse * inverse
        fx += term * dx
        fy += term * dy
        fz += term * dz
    return potential, fx, fy, fz


@inlined
def _sums_2d(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    charges: NDArray[np.float64],
    at: NDArray[np.float64],
) -> tuple[float, float, float, float]:
    """Return the potential at a point and minus its gradient: of -log r."""
    potential = fx = fy = 0.0
    for j in range(len(charges)):
        dx, dy = at[0] - x[j], at[1] - y[j]
        square = dx * dx + dy * dy
        square = square if square > 0 else 1.0  # whose logarithm is 0, as dx and dy are
        potential -= charges[j] * log(square) / 2
        term = charges[j] / square
        fx += term * dx
        fy += term * dy
    return potential, fx, fy, 0.0


@inlined
def _add(
    positions: NDArray[np.float64],
    charges: NDArray[np.float64],
    sources: slice,
    particle: int,
    result: NDArray[np.float64],
    column: int,
) -> None:
    """Add to a column of *result* what the slice *sources* of particles does to a *particle*."""
    x, y, charge = positions[0, sources], positions[1, sources], charges[sources]
    at = positions[:, particle]
    if len(positions) == 3:
        sums = _sums_3d(x, y, positions[2, sources], charge, at)
    else:
        sums = _sums_2d(x, y, charge, at)
    result[0, column] += sums[0]
    result[1, column] += charges[particle] * sums[1]
    result[2, column] += charges[particle] * sums[2]
    if len(positions) == 3:
        result[3, column] += charges[particle] * sums[3]


@loop(TABLE, REALS, INDICES, INDICES, INDICES, RESULT)
def _one_sided(
    positions: NDArray[np.float64],
    charges: NDArray[np.float64],
    offsets: NDArray[np.int64],
    targets: NDArray[np.int64],
    sources: NDArray[np.int64],
    result: NDArray[np.float64],
) -> None:
    for pair in range(len(targets)):
        source = slice(offsets[sources[pair]], offsets[sources[pair] + 1])
        for particle in range(offsets[targets[pair]], offsets[targets[pair] + 1]):
            _add(positions, charges, source, particle, result, particle)


@loop(TABLE, REALS, INDICES, RESULT)
def _on_points(
    positions: NDArray[np.float64],
    charges: NDArray[np.float64],
    targets: NDArray[np.int64],
    result: NDArray[np.float64],
) -> None:
    everything = slice(0, len(charges))
    for column in range(len(targets)):
        _add(positions, charges, everything, targets[column], result, column)
