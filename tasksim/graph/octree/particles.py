"""Distributions of particles in the unit box, for tests of fast multipole methods.

Every distribution is centred in [0, 1)^d and as large as fits.  They are those that ScalFMM
draws (https://gitlab.inria.fr/solverstack/ScalFMM, examples ``generateDistributions``) and that
Agullo et al., "Modeling irregular kernels of task-based codes: illustration with the FMM",
Inria research report 9036, 2017, measure: cube volumes, ellipsoid surfaces, spheres.  Particles
come in chunks, each from a random stream of its own, so that they are the same chunk by chunk
and all at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tasksim.base.errors import InputError, unknown
from tasksim.graph.octree.morton import check_dimension

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.random import Generator
    from numpy.typing import NDArray

__all__ = ["CHUNK_PARTICLES", "DISTRIBUTIONS", "all_positions", "charges", "positions"]

CHUNK_PARTICLES = 2**20
"""Number of particles per chunk, 24 MB of coordinates in three dimensions: any number is drawn in
little memory. Another chunk size gives other particles for the same seed."""

_POSITIONS, _CHARGES = 0, 1  # the streams of one seed
_PLUMMER_RADII = 10.0
"""Radius at which the distribution is cut, in Plummer radii: 98.5 % of the mass lies within."""
_BELOW_ONE = float(np.nextafter(1.0, 0.0))


def positions(
    distribution: str, count: int, dimension: int = 3, seed: int = 0
) -> Iterator[NDArray[np.float64]]:
    """Return an iterator over the positions of *count* particles, in chunks.

    Parameters
    ----------
    distribution : str
        ``cube``: uniform in the box (in 2-D the square).
        ``ball``: uniform in the ball (the disc).
        ``sphere``: uniform on its surface (the circle).
        ``sphere-poles``: on the same surface, dense at the poles of the last axis: uniform in
        the angles, as ``ellipsoid``; ScalFMM's non-uniform sphere. In 2-D the circle, with the
        latitude (pi/2) sin t of a uniform t.
        ``ellipsoid``: on the surface of semi-axes 1 : 1 : 2 (the ellipse 1 : 2), the longest
        along the last axis, uniform in the angles of its parametrisation and hence dense at
        the poles.
        ``plummer``: Plummer's model of a star cluster, up to 10 of its radii (its projection).
    count : int
        At least 1.
    dimension : int
        2 or 3.
    seed : int
        Not negative.

    Returns
    -------
    iterator over float64 arrays [m, d]
        m is :data:`CHUNK_PARTICLES`, less in the last chunk; all coordinates are in [0, 1).

    Raises
    ------
    InputError
        There is no such distribution, or one of the numbers is not legal.
    """
    if distribution not in _SHAPES:
        raise unknown("distribution", distribution, DISTRIBUTIONS)
    check_dimension(dimension)
    _check_numbers(count, seed)
    shape = _SHAPES[distribution]
    starts = range(0, count, CHUNK_PARTICLES)
    chunks = (
        shape(_stream(seed, _POSITIONS, number), min(CHUNK_PARTICLES, count - start), dimension)
        for number, start in enumerate(starts)
    )
    # From [-1, 1]^d to the box; rounding may put points just outside.
    return (np.clip(0.5 + 0.5 * points, 0.0, _BELOW_ONE) for points in chunks)


def all_positions(
    distribution: str, count: int, dimension: int = 3, seed: int = 0
) -> NDArray[np.float64]:
    """Return the positions of *count* particles, float64 [n, d]; see :func:`positions`."""
    chunks = positions(distribution, count, dimension, seed)
    result = np.empty((count, dimension))
    for number, chunk in enumerate(chunks):
        result[number * CHUNK_PARTICLES : number * CHUNK_PARTICLES + len(chunk)] = chunk
    return result


def charges(count: int, seed: int = 0) -> NDArray[np.float64]:
    """Return *count* charges uniform in (0, 1], float64 [n], independent of the positions.

    Raises
    ------
    InputError
        The count is less than 1, or the seed negative.
    """
    _check_numbers(count, seed)
    return 1.0 - _stream(seed, _CHARGES, 0).random(count)


def _cube(rng: Generator, count: int, dimension: int) -> NDArray[np.float64]:
    """Return points uniform in the cube [-1, 1)^d."""
    return rng.uniform(-1.0, 1.0, (count, dimension))


def _ball(rng: Generator, count: int, dimension: int) -> NDArray[np.float64]:
    """Return points uniform in the unit ball: a radius r encloses r**d of the volume."""
    radius = rng.random(count) ** (1 / dimension)
    return _sphere(rng, count, dimension) * radius[:, None]


def _sphere(rng: Generator, count: int, dimension: int) -> NDArray[np.float64]:
    """Return points uniform on the unit sphere.

    By Archimedes' theorem equal heights of the sphere are equal areas: the last coordinate is
    uniform (G. Marsaglia, "Choosing a point from the surface of a sphere", Annals of
    Mathematical Statistics 43(2), 1972).
    """
    angle = rng.uniform(0.0, 2 * np.pi, count)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    if dimension == 2:
        return circle
    height = rng.uniform(-1.0, 1.0, count)
    return np.column_stack([circle * np.sqrt(1 - height**2)[:, None], height])


def _sphere_poles(rng: Generator, count: int, dimension: int) -> NDArray[np.float64]:
    """Return points on the unit sphere, dense at the poles.

    They are (cos u cos v, cos u sin v, sin u) with u uniform in (-pi/2, pi/2), v in (-pi, pi):
    ScalFMM's ellipsoid of equal semi-axes.  At latitude u there are 1 / cos u times as many per
    area as at the equator.  No circle can have that density, whose integral is infinite; there
    the latitude is (pi/2) sin t of a uniform t.  So in both cases what would be uniform on a
    uniform surface, the height or the latitude, is the sine of a uniform angle.
    """
    uniform = rng.uniform(-np.pi / 2, np.pi / 2, count)
    if dimension == 3:
        latitude, around = uniform, _sphere(rng, count, 2)
    else:
        latitude, around = np.pi / 2 * np.sin(uniform), rng.choice([-1.0, 1.0], (count, 1))
    return np.column_stack([around * np.cos(latitude)[:, None], np.sin(latitude)])


def _ellipsoid(rng: Generator, count: int, dimension: int) -> NDArray[np.float64]:
    """Return points on the ellipsoid of semi-axes 1/2, 1/2, 1 (the ellipse 1/2, 1).

    They are (a cos u cos v, b cos u sin v, c sin u) with u uniform in (-pi/2, pi/2), v in
    (-pi, pi), as in ScalFMM, whose aspect ratio is 1 : 1 : 2 too; in 2-D (a cos v, c sin v).
    """
    if dimension == 2:
        return _sphere(rng, count, dimension) * [0.5, 1.0]
    return _sphere_poles(rng, count, 3) * [0.5, 0.5, 1.0]


def _plummer(rng: Generator, count: int, dimension: int) -> NDArray[np.float64]:
    """Return points of Plummer's model, cut off at the unit ball, 10 of the model's radii.

    Radius r, in those, encloses m(r) = (r**2 / (1 + r**2))**(d / 2) of the mass: in 3-D Plummer,
    "On the problem of distribution in globular star clusters", MNRAS 71, 1911; for d = 2 that
    is the same cluster projected on a plane.  The inverse of m draws the radii, as in Aarseth,
    Henon and Wielen, "A comparison of numerical methods for the study of star cluster
    dynamics", Astronomy and Astrophysics 37, 1974.
    """
    largest = _PLUMMER_RADII**2 / (1 + _PLUMMER_RADII**2)
    # m**(2 / d) of a uniform m up to m(10).
    squared = rng.random(count) ** (2 / dimension) * largest
    radius = np.sqrt(squared / (1 - squared)) / _PLUMMER_RADII
    return _sphere(rng, count, dimension) * radius[:, None]


_SHAPES: dict[str, Callable[[Generator, int, int], NDArray[np.float64]]] = {
    "cube": _cube,
    "ball": _ball,
    "sphere": _sphere,
    "sphere-poles": _sphere_poles,
    "ellipsoid": _ellipsoid,
    "plummer": _plummer,
}

DISTRIBUTIONS: tuple[str, ...] = tuple(_SHAPES)
"""The names that :func:`positions` knows."""


def _stream(seed: int, purpose: int, number: int) -> Generator:
    """Return the random numbers of one chunk for one purpose."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(purpose, number)))


def _check_numbers(count: int, seed: int) -> None:
    """Raise :exc:`InputError` unless there is a particle and the seed is not negative."""
    if count < 1:
        raise InputError(f"count: got {count} particles, expected at least 1")
    if seed < 0:
        raise InputError(f"seed: got {seed}, expected at least 0")
