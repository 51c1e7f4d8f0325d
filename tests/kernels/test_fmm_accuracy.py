"""The fast multipole method as a whole: errors as small as its orders promise."""

from __future__ import annotations

import numpy as np
import pytest

from tasksim.graph.octree.interactions import m2l_pairs, neighbour_pairs
from tasksim.graph.octree.morton import decode
from tasksim.graph.octree.particles import DISTRIBUTIONS, all_positions, charges
from tasksim.graph.octree.tree import tree_of_particles
from tasksim.kernels.fmm.interpolation import l2p, p2m
from tasksim.kernels.fmm.p2p import due_to, one_sided, symmetric
from tasksim.kernels.fmm.translations import by_octant, by_position, operators

DIMENSIONS = (2, 3)


def fmm(positions, q, height, order):
    """Return potentials and forces of the particles [d, n], and the particles, sorted by leaf."""
    tree, by_leaf = tree_of_particles(positions.T, height)
    positions, q = np.ascontiguousarray(positions[:, by_leaf]), q[by_leaf]
    dimension, bottom = tree.dimension, height - 1
    offsets = np.concatenate([[0], np.cumsum(tree.counts)])
    result = np.zeros((1 + dimension, len(q)))
    corners = [decode(index, dimension) for index in tree.levels]
    leaf = np.repeat(np.arange(len(tree.counts)), tree.counts)
    points = 2 * (positions * 2**bottom - corners[bottom][leaf].T) - 1
    shapes = [(len(cells), order**dimension) for cells in tree.levels]
    up, down = [np.zeros(shape) for shape in shapes], [np.zeros(shape) for shape in shapes]
    apply = operators(order, dimension)

    def family(level, *, upward):
        octant = tree.levels[level] & ((1 << dimension) - 1)
        ends = tree.parents(level), np.arange(len(octant))
        return by_octant(octant, *(ends if upward else ends[::-1]), dimension)

    p2m(order, points, q, offsets, up[bottom])()
    for level in range(bottom, 2, -1):
        apply.m2m(family(level, upward=True), up[level], up[level - 1])()
    for level in range(2, height):
        pairs = m2l_pairs(tree, level)
        relative = corners[level][pairs.target] - corners[level][pairs.source]
        pairs_by_position = by_position(relative, pairs.target, pairs.source)
        apply.m2l(pairs_by_position, up[level], down[level], 2.0**-level)()
        if level > 2:
            apply.l2l(family(level, upward=False), down[level - 1], down[level])()
    l2p(order, points, q, offsets, down[bottom], 2.0**-bottom, result)()
    touching = neighbour_pairs(tree)
    once = touching.target < touching.source
    symmetric(positions, q, offsets, touching.target[once], touching.source[once], result)()
    leaves = np.arange(len(tree.counts))
    one_sided(positions, q, offsets, leaves, leaves, result)()
    return result, positions, q


def errors(positions, height, order, targets=1000):
    """Return the relative 2-norm errors of potentials and of forces of some particles."""
    count = positions.shape[1]
    result, positions, q = fmm(positions, charges(count, seed=1), height, order)
    chosen = np.random.default_rng(0).permutation(count)[:targets]
    points = np.vstack([positions, q])[:, chosen]
    exact, got = due_to(positions, q, points), result[:, chosen]
    difference = got - exact
    return (
        np.linalg.norm(difference[0]) / np.linalg.norm(exact[0]),
        np.linalg.norm(difference[1:]) / np.linalg.norm(exact[1:]),
    )


def placed(distribution, count, dimension):
    return np.ascontiguousarray(all_positions(distribution, count, dimension, seed=1).T)


PROMISED_ERRORS = {3: 1e-3, 5: 1e-5, 7: 1e-7}
"""Per order, the error of the potential; that of forces is thirty times as much."""


class TestWholeMethod:
    @pytest.mark.parametrize("dimension", DIMENSIONS)
    @pytest.mark.parametrize("order", PROMISED_ERRORS)
    @pytest.mark.parametrize("distribution", DISTRIBUTIONS)
    def test_errors_are_as_small_as_promised(self, distribution, order, dimension):
        potential, force = errors(placed(distribution, 2000, dimension), 4, order)
        assert potential < PROMISED_ERRORS[order]
        assert force < 30 * PROMISED_ERRORS[order]

    @pytest.mark.parametrize(("distribution", "height"), [("ellipsoid", 6), ("cube", 5)])
    def test_leaves_of_few_particles_are_as_accurate(self, distribution, height):
        potential, force = errors(placed(distribution, 2000, 3), height, 5)
        assert potential < PROMISED_ERRORS[5]
        assert force < 30 * PROMISED_ERRORS[5]

    @pytest.mark.parametrize("dimension", DIMENSIONS)
    @pytest.mark.parametrize("order", [3, 5])
    def test_particles_on_corners_of_cells_some_in_one_place(self, order, dimension):
        """Corners are where expansions are worst, so this is not for order 7."""
        corners = np.random.default_rng(0).integers(0, 9, (dimension, 300)) / 8
        inside = placed("cube", 2000, dimension)
        potential, force = errors(np.hstack([corners, corners[:, :50], inside]), 4, order, 2350)
        assert potential < PROMISED_ERRORS[order]
        assert force < 30 * PROMISED_ERRORS[order]

    @pytest.mark.parametrize("height", [1, 2])
    def test_low_trees_are_the_direct_sum(self, height):
        potential, force = errors(placed("cube", 300, 3), height, 3)
        assert potential < 1e-14
        assert force < 1e-13

    def test_one_particle_feels_nothing(self):
        result, _, _ = fmm(np.full((3, 1), 0.3), np.ones(1), 4, 3)
        np.testing.assert_array_equal(result, 0)

    def test_forces_almost_cancel(self):
        """The far field is not symmetric, but as accurate as the whole."""
        result, _, _ = fmm(placed("cube", 2000, 3), charges(2000), 4, 5)
        net = np.linalg.norm(result[1:].sum(axis=1))
        assert net < 1e-5 * np.linalg.norm(result[1:], axis=0).sum()

    def test_the_approximation_is_one(self):
        """The far field is not summed directly, or the other tests here would say nothing."""
        potential, _ = errors(placed("cube", 2000, 3), 4, 3)
        assert potential > 1e-6
