"""Interpolation between particles and the Chebyshev expansions of their leaves (P2M and L2P).

A function on [-1, 1]^d is interpolated in p nodes per dimension, where p is the *order*, by
polynomials of degree p - 1 in each coordinate. Its p^d coefficients are its values in the nodes.
W. Fong and E. Darve, "The black-box fast multipole method", J. Comput. Phys. 228(23), 2009,
section 2.

The function is harmonic, as potentials are in space without charges. This determines its terms of
degree p in one coordinate, which are invisible in the nodes, because the Chebyshev polynomial of
degree p is zero in all of them. Without these terms, forces, which are derivatives, have about
four times the error from order 4 on, and more than 3e-6 with order 7 and a few particles per
leaf. With them, the interpolation has p + 1 nodes, whose values are a matrix times the values in p
nodes (:func:`extension`). Expansions of cells, and all work on cells, do not change.

The table has relative 2-norm errors of potentials and forces in 3-D: the largest ones over uniform
and Plummer balls, cubes, surfaces of spheres and ellipsoids, trees of height 3 to 6, and 500 to
30000 particles.

=====  ==========  =======
order  potentials  forces
=====  ==========  =======
3      1.5e-4      3.0e-3
5      1.1e-6      4.5e-5
7      2.2e-8      1.7e-6
=====  ==========  =======

Particles in corners of cells, where expansions are worst, have errors several times as large.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial import chebyshev

from tasksim.base.errors import InputError
from tasksim.kernels.fmm.compiled import (
    INDICES,
    REAL,
    REALS,
    RESULT,
    TABLE,
    LoopCall,
    inlined,
    loop,
)

if TYPE_CHECKING:
    from tasksim.base.arrays import Floats, Ints

__all__ = [
    "add_l2p",
    "add_p2m",
    "check_order",
    "extension",
    "l2p",
    "node_coordinates",
    "p2m",
    "weights",
]


def check_order(order: int, dimension: int) -> None:
    """Raise :exc:`InputError` unless the order and the dimension are legal."""
    if not (isinstance(order, int) and order >= 1):
        raise InputError(f"order: got {order!r}; legal: an integer from 1")
    if dimension not in (2, 3):
        raise InputError(f"dimension: got {dimension!r}; legal: 2 or 3")


def node_coordinates(order: int, dimension: int) -> Floats:
    """Return the nodes in [-1, 1]^d, with the last coordinate changing fastest.

    Returns
    -------
    float64 array [d, p^d]
        All combinations of the zeros of the Chebyshev polynomial of degree p.

    Raises
    ------
    InputError
        The order is less than 1, or the dimension neither 2 nor 3.
    """
    check_order(order, dimension)
    axis = chebyshev.chebpts1(order)
    return np.stack(np.meshgrid(*[axis] * dimension, indexing="ij")).reshape(dimension, -1)


def weights(points: Floats, order: int) -> Floats:
    """Return the weight of each node at each point.

    Parameters
    ----------
    points : float64 array [d, n]
        Points in [-1, 1]^d.
    order : int
        Nodes per dimension.

    Returns
    -------
    float64 array [n, p^d]
        A matrix whose product with the values of a harmonic function in the nodes approximates its
        values at the points.

    Raises
    ------
    InputError
        The order is less than 1, or the dimension neither 2 nor 3.
    """
    to_finer = extension(order, len(points))
    of_finer = np.ones((points.shape[1], 1))
    for coordinate in points:
        of_axis = chebyshev.chebvander(coordinate, order) @ _basis(order + 1)
        of_finer = (of_finer[:, :, None] * of_axis[:, None, :]).reshape(len(of_axis), -1)
    return of_finer @ to_finer


@cache
def extension(order: int, dimension: int) -> Floats:
    """Return the matrix from values in p nodes per dimension to values in p + 1.

    In 3-D, let f have the Chebyshev coefficients c_ijk. The equation f_xx = -(f_yy + f_zz) holds
    for the coefficients of both sides, in particular for those of degree p - 2 in x. On the left
    side, c_pjk is the only known or unknown term that contributes to them.

    Returns
    -------
    float64 array [(p + 1)^d, p^d]
        A matrix that is exact for harmonic polynomials of degree up to p, from order 3 on. Orders 1
        and 2 have no second derivatives and interpolate f as an arbitrary function.
    """
    check_order(order, dimension)
    nodes = order**dimension
    coefficients: Floats = np.eye(nodes).reshape(*[order] * dimension, nodes)
    for axis in range(dimension):
        coefficients = _along(axis, _basis(order), coefficients)
    known: Floats = np.pad(coefficients, [(0, 1)] * dimension + [(0, 0)])
    extended = known.copy()
    if order > 2:
        # From Chebyshev coefficients of a function to those of its second derivative.
        second: Floats = np.pad(chebyshev.chebder(np.eye(order + 1), 2), [(0, 2), (0, 0)])
        curvature = [_along(axis, second, known) for axis in range(dimension)]
        for axis in range(dimension):
            others = sum(curvature[:axis] + curvature[axis + 1 :])
            last = np.take(others, order - 2, axis) / second[order - 2, order]
            np.moveaxis(extended, axis, 0)[order] = -last
    finer = chebyshev.chebvander(chebyshev.chebpts1(order + 1), order).astype(np.float64)
    for axis in range(dimension):
        extended = _along(axis, finer, extended)
    return extended.reshape(-1, nodes)


def _along(axis: int, matrix: Floats, array: Floats) -> Floats:
    """Return *array* with *matrix* applied along one axis."""
    return np.moveaxis(np.tensordot(matrix, array, (1, axis)), 0, axis)


@cache
def _basis(order: int) -> Floats:
    """Return the Chebyshev coefficients [p, p] of the weight of each node (column), in 1-D."""
    values = chebyshev.chebvander(chebyshev.chebpts1(order), order - 1)
    values[:, 1:] *= 2
    return np.ascontiguousarray(values.T / order)


def p2m(order: int, points: Floats, charges: Floats, offsets: Ints, multipoles: Floats) -> LoopCall:
    """Return the call that adds charges, interpolated to the nodes, to the multipoles of leaves.

    Parameters
    ----------
    order : int
        Nodes per dimension, p.
    points : float64 array [d, n]
        Positions relative to the leaves, which are [-1, 1]^d.
    charges : float64 array [n]
    offsets : int64 array [leaves + 1]
        Particles ``offsets[i]`` to ``offsets[i + 1] - 1`` are in leaf i. It may be a part of a
        longer array; the particles of other leaves are then ignored.
    multipoles : float64 array [leaves, p^d]
        The array to add to.
    """
    matrices = _basis(order + 1), extension(order, len(points))
    return LoopCall(add_p2m, (*matrices, points, charges, offsets, multipoles))


def l2p(
    order: int,
    points: Floats,
    charges: Floats,
    offsets: Ints,
    locals_: Floats,
    cell_width: float,
    result: Floats,
) -> LoopCall:
    """Return the call that adds local expansions of leaves to potentials and forces in them.

    Parameters
    ----------
    order, points, charges, offsets
        The same as in :func:`p2m`.
    locals_ : float64 array [leaves, p^d]
        Potentials in the nodes.
    cell_width : float
        Width of a leaf.
    result : float64 array [1 + d, n]
        Potentials, then the components of forces; added to.
    """
    matrices = _basis(order + 1), extension(order, len(points))
    stretch = 2 / cell_width
    return LoopCall(add_l2p, (*matrices, points, charges, offsets, locals_, stretch, result))


@inlined
def _weights_of(x: float, basis: Floats, values: Floats, slopes: Floats) -> None:
    """Set the weights of the nodes at *x* and their derivatives, in 1-D."""
    order = len(basis)
    for node in range(order):
        values[node] = basis[0, node]
        slopes[node] = 0.0
    before, now, slope_before, slope = 1.0, x, 0.0, 1.0
    for degree in range(1, order):
        for node in range(order):
            values[node] += basis[degree, node] * now
            slopes[node] += basis[degree, node] * slope
        # T_(k+1) = 2 x T_k - T_(k-1), and its derivative.
        slope_before, slope = slope, 2 * now + 2 * x * slope - slope_before
        before, now = now, 2 * x * now - before


@loop(TABLE, TABLE, REALS, INDICES, RESULT)
def _p2m(basis: Floats, points: Floats, charges: Floats, offsets: Ints, multipoles: Floats) -> None:
    order, dimension = len(basis), len(points)
    values, slopes = np.ones((3, order)), np.zeros((3, order))
    x, y, z = values[0], values[1], values[2]
    depth = order if dimension == 3 else 1  # 2-D is 3-D with a single layer of nodes
    for leaf in range(len(offsets) - 1):
        multipole = multipoles[leaf]
        for particle in range(offsets[leaf], offsets[leaf + 1]):
            for axis in range(dimension):
                _weights_of(points[axis, particle], basis, values[axis], slopes[axis])
            node = 0
            for i in range(order):
                for j in range(order):
                    weight = charges[particle] * x[i] * y[j]
                    for k in range(depth):
                        multipole[node + k] += weight * z[k]
                    node += depth


@loop(TABLE, TABLE, REALS, INDICES, TABLE, REAL, RESULT)
def _l2p(
    basis: Floats,
    points: Floats,
    charges: Floats,
    offsets: Ints,
    locals_: Floats,
    stretch: float,
    result: Floats,
) -> None:
    order, dimension = len(basis), len(points)
    values, slopes = np.ones((3, order)), np.zeros((3, order))
    x, y, z = values[0], values[1], values[2]
    slope_x, slope_y, slope_z = slopes[0], slopes[1], slopes[2]
    depth = order if dimension == 3 else 1
    for leaf in range(len(offsets) - 1):
        local = locals_[leaf]
        for particle in range(offsets[leaf], offsets[leaf + 1]):
            for axis in range(dimension):
                _weights_of(points[axis, particle], basis, values[axis], slopes[axis])
            potential = by_x = by_y = by_z = 0.0
            node = 0
            for i in range(order):
                for j in range(order):
                    value = slope = 0.0
                    for k in range(depth):
                        value += local[node + k] * z[k]
                        slope += local[node + k] * slope_z[k]
                    node += depth
                    potential += x[i] * y[j] * value
                    by_x += slope_x[i] * y[j] * value
                    by_y += x[i] * slope_y[j] * value
                    by_z += x[i] * y[j] * slope
            scale = charges[particle] * stretch
            result[0, particle] += potential
            result[1, particle] -= scale * by_x
            result[2, particle] -= scale * by_y
            if dimension == 3:
                result[3, particle] -= scale * by_z


@loop(TABLE, TABLE, TABLE, REALS, INDICES, RESULT)
def add_p2m(
    basis: Floats,
    finer_nodes: Floats,
    points: Floats,
    charges: Floats,
    offsets: Ints,
    multipoles: Floats,
) -> None:
    """Do the work of :func:`p2m`."""
    finer = np.zeros((len(multipoles), len(finer_nodes)))
    _p2m(basis, points, charges, offsets, finer)
    multipoles += np.dot(finer, finer_nodes)


@loop(TABLE, TABLE, TABLE, REALS, INDICES, TABLE, REAL, RESULT)
def add_l2p(
    basis: Floats,
    finer_nodes: Floats,
    points: Floats,
    charges: Floats,
    offsets: Ints,
    locals_: Floats,
    stretch: float,
    result: Floats,
) -> None:
    """Do the work of :func:`l2p`."""
    finer = np.dot(locals_, finer_nodes.T)
    _l2p(basis, points, charges, offsets, finer, stretch, result)
