"""Particles of an octree: distributions, charges, and what may be asked for."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tasksim.base.errors import InputError
from tasksim.graph.octree import particles
from tasksim.graph.octree.particles import DISTRIBUTIONS, all_positions, charges, positions
from tasksim.graph.octree.tree import tree_of_distribution

DIMENSIONS = pytest.mark.parametrize("dimension", [2, 3])
EACH_DISTRIBUTION = pytest.mark.parametrize("distribution", DISTRIBUTIONS)


@DIMENSIONS
@EACH_DISTRIBUTION
def test_particles_are_in_the_half_open_box_and_fill_it(distribution, dimension):
    points = all_positions(distribution, 20_000, dimension)
    assert points.shape == (20_000, dimension)
    assert points.dtype == np.float64
    assert points.min() >= 0
    assert points.max() < 1
    assert points[:, -1].max() - points[:, -1].min() > 0.9
    assert np.abs(points.mean(axis=0) - 0.5).max() < 0.02


@EACH_DISTRIBUTION
def test_a_seed_says_which_particles(distribution):
    first = all_positions(distribution, 100, 3, seed=1)
    assert_array_equal(first, all_positions(distribution, 100, 3, seed=1))
    assert not np.array_equal(first, all_positions(distribution, 100, 3, seed=2))


def test_chunks_do_not_repeat_each_other(monkeypatch):
    monkeypatch.setattr(particles, "CHUNK_PARTICLES", 64)
    points = all_positions("cube", 640)
    assert len(np.unique(points)) == points.size


def radii(points):
    """Distances to the centre of the box, in halves of its side."""
    return np.linalg.norm(2 * points - 1, axis=1)


@DIMENSIONS
def test_a_sphere_is_a_surface_and_a_ball_is_full(dimension):
    for surface in ("sphere", "sphere-poles"):
        sphere = radii(all_positions(surface, 20_000, dimension))
        assert np.abs(sphere - 1).max() < 1e-14
    ball = radii(all_positions("ball", 20_000, dimension))
    assert ball.max() <= 1
    # A ball of half the radius has 2**-d of the volume: four standard deviations.
    share = 2.0**-dimension
    assert np.mean(ball < 0.5) == pytest.approx(share, abs=4 * np.sqrt(share / 20_000))


def test_equal_heights_of_a_sphere_hold_equally_many():
    heights = all_positions("sphere", 20_000)
    for axis in range(3):
        shares = np.histogram(heights[:, axis], bins=10, range=(0, 1))[0] / 20_000
        assert np.abs(shares - 0.1).max() < 0.01


@DIMENSIONS
def test_an_ellipsoid_is_a_surface_twice_as_long_as_wide(dimension):
    points = 2 * all_positions("ellipsoid", 20_000, dimension) - 1
    axes = np.array([0.5] * (dimension - 1) + [1.0])
    assert np.abs(np.linalg.norm(points / axes, axis=1) - 1).max() < 1e-14


def test_an_ellipsoid_is_dense_at_the_poles():
    heights = 2 * all_positions("ellipsoid", 20_000)[:, 2] - 1
    # The latitude is uniform: beyond 60 degrees lies a third, but on a uniform sphere 13 %.
    beyond = np.mean(np.abs(heights) > np.sin(np.pi / 3))
    assert beyond == pytest.approx(1 / 3, abs=0.015)


@pytest.mark.parametrize(
    ("dimension", "share"), [(3, 1 / 3), (2, 1 - 2 / np.pi * np.arcsin(2 / 3))]
)
def test_a_sphere_may_be_dense_at_the_poles(dimension, share):
    """Beyond 60 degrees of latitude; uniformly there were 13 % and, on the circle, a third."""
    points = 2 * all_positions("sphere-poles", 20_000, dimension) - 1
    beyond = np.mean(np.abs(points[:, -1]) > np.sin(np.pi / 3))
    assert beyond == pytest.approx(share, abs=0.015)
    # All sides are as dense as each other.
    for axis in range(dimension - 1):
        assert np.mean(points[:, axis] > 0) == pytest.approx(0.5, abs=0.015)


@pytest.mark.parametrize(("dimension", "expected"), [(3, 4.0), (2, 2.0)])
def test_leaves_of_a_sphere_dense_at_the_poles_hold_unequally_many(dimension, expected):
    fullest = [
        tree_of_distribution(name, 20_000, 5, dimension).counts.max()
        for name in ("sphere", "sphere-poles")
    ]
    assert fullest[1] > expected * fullest[0]


@DIMENSIONS
def test_half_of_a_plummer_cluster_is_inside_its_half_mass_radius(dimension):
    radius = 10 * radii(all_positions("plummer", 20_000, dimension))
    assert radius.max() <= 10
    mass = (100 / 101) ** (dimension / 2)  # what 10 radii enclose
    for inside in (0.5, 1.0, 3.0):
        expected = (inside**2 / (1 + inside**2)) ** (dimension / 2) / mass
        assert np.mean(radius < inside) == pytest.approx(expected, abs=0.015)


def test_charges_are_positive_and_at_most_1():
    drawn = charges(20_000, seed=4)
    assert drawn.shape == (20_000,)
    assert 0 < drawn.min() < 0.01
    assert 0.99 < drawn.max() <= 1
    assert_array_equal(drawn, charges(20_000, seed=4))
    assert not np.array_equal(drawn, charges(20_000, seed=5))


def test_charges_do_not_follow_the_positions():
    drawn = charges(1000, seed=0)
    coordinates = all_positions("cube", 1000, seed=0).ravel()[:1000]
    assert abs(np.corrcoef(drawn, coordinates)[0, 1]) < 0.1


def test_an_unknown_distribution_is_named_with_the_nearest():
    with pytest.raises(InputError, match="did you mean 'ellipsoid'"):
        positions("elipsoid", 10)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"count": 0}, "count: got 0 particles"),
        ({"dimension": 1}, "dimension: got 1, expected 2 or 3"),
        ({"seed": -1}, "seed: got -1"),
    ],
)
def test_numbers_that_are_not_legal_are_refused_before_anything_is_drawn(arguments, message):
    with pytest.raises(InputError, match=message):
        positions("cube", **{"count": 10, **arguments})
