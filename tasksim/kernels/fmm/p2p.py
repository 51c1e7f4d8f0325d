"""Direct sums of potentials and forces over particles of leaves that touch (P2P).

Each evaluation of the kernel serves only one particle of the pair. Its use for both would halve the
square roots and divisions, but all sums would then go through memory instead of registers: on one
Xeon, this was slower for leaves of up to 40 particles, and a tenth faster for leaves of 200.
Therefore one loop does all the work.

A particle does not act on itself, and particles at the same position do not act on each other.

The same loop sums over all particles for chosen ones (:func:`due_to`), as the reference for the
method.
"""

from __future__ import annotations

from math import inf, log, sqrt
from typing import TYPE_CHECKING

import numpy as np

from tasksim.kernels.fmm.compiled import INDICES, REALS, RESULT, TABLE, LoopCall, inlined, loop

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.base.arrays import Floats, Ints


__all__ = ["add_one_sided", "add_symmetric", "due_to", "one_sided", "symmetric"]


def one_sided(
    positions: Floats,
    charges: Floats,
    offsets: Ints,
    targets: NDArray[np.integer],
    sources: NDArray[np.integer],
    result: Floats,
) -> LoopCall:
    """Return the call that adds the effect of particles of source leaves to those of target leaves.

    Parameters
    ----------
    positions : float64 array [d, n]
    charges : float64 array [n]
    offsets : int64 array [leaves + 1]
        Particles ``offsets[i]`` to ``offsets[i + 1] - 1`` are in leaf i.
    targets, sources : int64 array [pairs]
        The leaves of each pair; other integer types are converted.
    result : float64 array [1 + d, n]
        Potentials, then the components of forces; added to.
    """
    pairs = _pairs(targets, sources)
    return LoopCall(add_one_sided, (positions, charges, offsets, *pairs, result))


def symmetric(
    positions: Floats,
    charges: Floats,
    offsets: Ints,
    targets: NDArray[np.integer],
    sources: NDArray[np.integer],
    result: Floats,
) -> LoopCall:
    """Return the call that adds the effect of particles of either leaf of a pair to the other's.

    The parameters are those of :func:`one_sided`. A pair of a leaf with itself would count twice.
    """
    pairs = _pairs(targets, sources)
    return LoopCall(add_symmetric, (positions, charges, offsets, *pairs, result))


def _pairs(targets: NDArray[np.integer], sources: NDArray[np.integer]) -> tuple[Ints, Ints]:
    return np.ascontiguousarray(targets, np.int64), np.ascontiguousarray(sources, np.int64)


@inlined
def _add_3d(
    sources: tuple[Floats, ...],
    positions: Floats,
    charge: float,
    particle: int,
    result: Floats,
    column: int,
) -> None:
    """Add the effect of *sources* (x, y, z, charges) on one particle to a column of *result*.

    The potential is 1/r.
    """
    x, y, z, charges = sources
    at_x, at_y, at_z = positions[0, particle], positions[1, particle], positions[2, particle]
    potential = fx = fy = fz = 0.0
    for j in range(len(charges)):
        dx, dy, dz = at_x - x[j], at_y - y[j], at_z - z[j]
        square = dx * dx + dy * dy + dz * dz
        inverse = 1 / sqrt(square if square > 0 else inf)  # 0 for the particle itself
        term = charges[j] * inverse
        potential += term
        term *= inverse * inverse
        fx += term * dx
        fy += term * dy
        fz += term * dz
    result[0, column] += potential
    result[1, column] += charge * fx
    result[2, column] += charge * fy
    result[3, column] += charge * fz


@inlined
def _add_2d(
    sources: tuple[Floats, ...],
    positions: Floats,
    charge: float,
    particle: int,
    result: Floats,
    column: int,
) -> None:
    """Add the effect of *sources* on one particle to a column of *result*, for -log r."""
    x, y, _, charges = sources
    at_x, at_y = positions[0, particle], positions[1, particle]
    potential = fx = fy = 0.0
    for j in range(len(charges)):
        dx, dy = at_x - x[j], at_y - y[j]
        square = dx * dx + dy * dy
        square = square if square > 0 else 1.0  # log 1 = 0, and dx and dy are 0 already
        potential -= charges[j] * log(square) / 2
        term = charges[j] / square
        fx += term * dx
        fy += term * dy
    result[0, column] += potential
    result[1, column] += charge * fx
    result[2, column] += charge * fy


@inlined
def _slices(positions: Floats, charges: Floats, first: int, last: int) -> tuple[Floats, ...]:
    """Return x, y, z (y again in 2-D) and the charges of particles *first* to *last* - 1."""
    x, y, z = positions[0], positions[1], positions[len(positions) - 1]
    return x[first:last], y[first:last], z[first:last], charges[first:last]


@loop(TABLE, REALS, INDICES, INDICES, INDICES, RESULT)
def add_one_sided(
    positions: Floats, charges: Floats, offsets: Ints, targets: Ints, sources: Ints, result: Floats
) -> None:
    """Do the work of :func:`one_sided`."""
    for pair in range(len(targets)):
        leaf = sources[pair]
        source = _slices(positions, charges, offsets[leaf], offsets[leaf + 1])
        for i in range(offsets[targets[pair]], offsets[targets[pair] + 1]):
            if len(positions) == 3:
                _add_3d(source, positions, charges[i], i, result, i)
            else:
                _add_2d(source, positions, charges[i], i, result, i)


@loop(TABLE, REALS, INDICES, INDICES, INDICES, RESULT)
def add_symmetric(
    positions: Floats, charges: Floats, offsets: Ints, targets: Ints, sources: Ints, result: Floats
) -> None:
    """Do the work of :func:`symmetric`."""
    add_one_sided(positions, charges, offsets, targets, sources, result)
    add_one_sided(positions, charges, offsets, sources, targets, result)


def due_to(positions: Floats, charges: Floats, points: Floats) -> Floats:
    """Return potentials and forces that some particles cause at *points*.

    A point in the place of a particle is not affected by it.

    Parameters
    ----------
    positions : float64 array [d, n]
    charges : float64 array [n]
    points : float64 array [d + 1, m]
        Positions, then the charges that forces act on.

    Returns
    -------
    float64 array [1 + d, m]
        The potential of 1/r (3-D) or -log r (2-D), then the components of the force: charge times
        minus the gradient of the potential. They are additive: the sum over disjoint sets of
        particles is the result for all of them.
    """
    count, chosen = len(charges), points.shape[1]
    everywhere = np.hstack([positions, points[:-1]])
    every_charge = np.append(charges, points[-1])
    result = np.zeros((1 + len(positions), count + chosen))
    offsets = np.array([0, count, count + chosen])
    one_sided(everywhere, every_charge, offsets, np.array([1]), np.array([0]), result)()
    return result[:, count:]
