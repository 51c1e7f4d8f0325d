"""Operators of the fast multipole method: each alone."""

from __future__ import annotations

import subprocess
import sys
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lock_of_python import lets_others_run

from tasksim.base.errors import InputError
from tasksim.graph.octree.morton import decode
from tasksim.kernels.fmm.interpolation import l2p, node_coordinates, p2m, weights
from tasksim.kernels.fmm.p2p import due_to, one_sided, symmetric
from tasksim.kernels.fmm.translations import by_octant, by_position, operators

DIMENSIONS = (2, 3)


def drawn(*shape, seed=0, low=-1.0):
    return np.random.default_rng(seed).uniform(low, 1.0, shape)


def harmonic(degree, dimension, seed=0):
    """Return a harmonic polynomial of that degree, and its gradient.

    It is the real part of (a · x)^degree, where the real and imaginary parts of a are unit
    vectors at right angles, so that a · a = 0.
    """
    frame, _ = np.linalg.qr(drawn(dimension, dimension, seed=seed))
    a = frame[:, 0] + 1j * frame[:, 1]

    def gradient(points):
        return (degree * (a @ points) ** max(degree - 1, 0) * a[:, None]).real

    return lambda points: np.real((a @ points) ** degree).copy(), gradient


def exact_degree(order):
    """Return the highest degree of harmonic polynomials that interpolation does not change."""
    return order if order > 2 else order - 1


def potential_of(distance, dimension):
    return 1 / distance if dimension == 3 else -np.log(distance)


@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize("order", [1, 2, 3, 6])
class TestInterpolation:
    def test_a_node_has_all_the_weight_at_its_place(self, order, dimension):
        nodes = node_coordinates(order, dimension)
        np.testing.assert_allclose(weights(nodes, order), np.eye(order**dimension), atol=1e-13)

    def test_harmonic_polynomials_are_exact(self, order, dimension):
        points = drawn(dimension, 20, seed=1)
        for degree in range(exact_degree(order) + 1):
            value, _ = harmonic(degree, dimension)
            in_nodes = value(node_coordinates(order, dimension))
            np.testing.assert_allclose(weights(points, order) @ in_nodes, value(points), atol=1e-12)

    def test_a_degree_more_is_not_exact(self, order, dimension):
        points = drawn(dimension, 20, seed=1)
        value, _ = harmonic(exact_degree(order) + 1, dimension)
        in_nodes = value(node_coordinates(order, dimension))
        assert np.abs(weights(points, order) @ in_nodes - value(points)).max() > 1e-3

    def test_p2m_spreads_charges_by_the_weights_of_the_nodes(self, order, dimension):
        points, q = drawn(dimension, 9, seed=1), drawn(9, seed=2)
        multipoles = np.ones((3, order**dimension))
        p2m(order, points, q, np.array([0, 4, 4, 9]), multipoles)()
        spread = weights(points, order) * q[:, None]
        expected = 1 + np.stack([spread[:4].sum(axis=0), np.zeros(order**dimension),
                                 spread[4:].sum(axis=0)])  # fmt: skip
        np.testing.assert_allclose(multipoles, expected, atol=1e-13)

    def test_p2m_of_a_part_of_the_leaves_needs_only_their_offsets(self, order, dimension):
        points, q = drawn(dimension, 9, seed=1), drawn(9, seed=2)
        offsets = np.array([0, 2, 5, 9])
        whole, part = np.zeros((2, 3, order**dimension))
        p2m(order, points, q, offsets, whole)()
        p2m(order, points, q, offsets[1:], part[1:])()
        # Fewer points are a product of another shape, for which a BLAS may sum in another order.
        np.testing.assert_allclose(part[1:], whole[1:], atol=1e-13)
        assert not part[0].any()

    def test_l2p_gives_potential_and_minus_charge_times_gradient(self, order, dimension):
        points, q, width = drawn(dimension, 7, seed=1), drawn(7, seed=2), 0.25
        value, gradient = harmonic(exact_degree(order), dimension)
        locals_ = np.tile(value(node_coordinates(order, dimension)), (2, 1))
        result = np.ones((1 + dimension, 7))
        l2p(order, points, q, np.array([0, 3, 7]), locals_, width, result)()
        np.testing.assert_allclose(result[0], 1 + value(points), atol=1e-12)
        force = -q * gradient(points) * 2 / width
        np.testing.assert_allclose(result[1:], 1 + force, atol=1e-11)


@pytest.mark.parametrize("dimension", DIMENSIONS)
class TestOctants:
    @pytest.fixture
    def octants(self, dimension):
        """Return, in no particular order, each child of one parent: octant and corner."""
        octant = np.random.default_rng(3).permutation(1 << dimension)
        return octant, 2 * decode(octant, dimension) - 1

    @pytest.mark.parametrize("order", [1, 2, 3, 5])
    def test_m2m_keeps_what_charges_weigh_with_a_harmonic_polynomial(
        self, octants, order, dimension
    ):
        octant, corner = octants
        n = len(octant)
        points, q = drawn(dimension, 3 * n), drawn(3 * n, seed=1)
        children, parent = (np.zeros((m, order**dimension)) for m in (n, 1))
        p2m(order, points, q, np.arange(n + 1) * 3, children)()
        pairs = by_octant(octant, np.zeros(n, int), np.arange(n), dimension)
        operators(order, dimension).m2m(pairs, children, parent)()
        in_parent = points / 2 + np.repeat(corner, 3, axis=0).T / 2
        for degree in range(exact_degree(order) + 1):
            value, _ = harmonic(degree, dimension)
            moment = parent[0] @ value(node_coordinates(order, dimension))
            assert moment == pytest.approx(q @ value(in_parent), abs=1e-12)

    @pytest.mark.parametrize("order", [1, 2, 3, 5])
    def test_l2l_gives_children_the_harmonic_polynomial_of_the_parent(
        self, octants, order, dimension
    ):
        octant, corner = octants
        n, nodes = len(octant), node_coordinates(order, dimension)
        value, _ = harmonic(exact_degree(order), dimension)
        parent, children = value(nodes)[None], np.ones((n, order**dimension))
        pairs = by_octant(octant, np.arange(n), np.zeros(n, int), dimension)
        operators(order, dimension).l2l(pairs, parent, children)()
        expected = [1 + value(nodes / 2 + at[:, None] / 2) for at in corner]
        np.testing.assert_allclose(children, expected, atol=1e-12)

    def test_an_octant_that_does_not_exist_is_refused(self, dimension):
        with pytest.raises(InputError, match=f"octants: got 0 to {1 << dimension}; legal"):
            by_octant(np.array([0, 1 << dimension]), np.zeros(2), np.zeros(2), dimension)


@pytest.mark.parametrize("dimension", DIMENSIONS)
class TestM2l:
    def positions(self, dimension):
        everywhere = np.array(list(product(range(-3, 4), repeat=dimension)))
        return everywhere[np.abs(everywhere).max(axis=1) > 1]

    @pytest.mark.parametrize("width", [1.0, 0.125])
    def test_every_position_has_the_potentials_between_its_nodes(self, dimension, width):
        order, relative = 3, self.positions(dimension)
        assert len(relative) == 7**dimension - 3**dimension
        multipoles = drawn(len(relative), order**dimension)
        locals_ = np.zeros_like(multipoles)
        cells = np.arange(len(relative))
        operators(order, dimension).m2l(
            by_position(relative, cells, cells), multipoles, locals_, width
        )()
        nodes = node_coordinates(order, dimension).T * width / 2
        for position, multipole, local in zip(relative, multipoles, locals_, strict=True):
            apart = nodes[:, None] + position * width - nodes[None]
            kernel = potential_of(np.linalg.norm(apart, axis=2), dimension)
            np.testing.assert_allclose(local, kernel @ multipole, rtol=0, atol=1e-12 / width)

    def test_sources_of_one_target_add_up_however_many_share_a_matrix(self, dimension):
        order, relative = 2, np.repeat(self.positions(dimension)[:3], 70, axis=0)
        multipoles, source = drawn(4, order**dimension), np.arange(210) % 4
        together, alone = np.zeros((2, 2, order**dimension))
        apply = operators(order, dimension).m2l
        apply(by_position(relative, np.ones(210, int), source), multipoles, together, 1.0)
        for i in range(210):
            pair = by_position(relative[i : i + 1], np.array([1]), source[i : i + 1])
            apply(pair, multipoles, alone, 1.0)
        np.testing.assert_allclose(together, alone, atol=1e-11)
        assert not together[0].any()

    def test_equivalent_positions_share_their_matrix(self, dimension):
        matrices = operators(3, dimension).m2l_matrices
        assert len(matrices) == {2: 7, 3: 16}[dimension]

    @pytest.mark.parametrize("distance", [0, 1, 4])
    def test_cells_too_near_or_too_far_are_refused(self, dimension, distance):
        relative = np.array([[2] * dimension, [0] * (dimension - 1) + [distance]])
        with pytest.raises(InputError, match="of pair 1; legal: a distance of 2 to 3 cells"):
            by_position(relative, np.arange(2), np.arange(2))


def test_no_pairs_change_nothing():
    none = np.zeros(0, dtype=np.int64)
    expansions = np.zeros((1, 9))
    operators(3, 2).m2l(
        by_position(np.zeros((0, 2), int), none, none), expansions, expansions, 1.0
    )()
    operators(3, 2).m2m(by_octant(none, none, none, 2), expansions, expansions)()
    assert not expansions.any()


@pytest.mark.parametrize(("order", "dimension"), [(0, 3), (2.5, 3), (3, 4), (3, 1)])
def test_orders_and_dimensions_that_do_not_exist_are_refused(order, dimension):
    with pytest.raises(InputError, match=r"(order|dimension): got"):
        operators(order, dimension)


def summed(positions, q, acts):
    """Return potentials and forces by a loop over all pairs (i, j) for which *acts*."""
    dimension, n = positions.shape
    result = np.zeros((1 + dimension, n))
    for i, j in product(range(n), repeat=2):
        apart = positions[:, i] - positions[:, j]
        distance = np.linalg.norm(apart)
        if acts(i, j) and distance > 0:
            result[0, i] += q[j] * potential_of(distance, dimension)
            result[1:, i] += q[i] * q[j] * apart / distance**dimension
    return result


@st.composite
def leaves(draw):
    """Return positions, some of them equal, charges and offsets of leaves, some of them empty."""
    dimension = draw(st.sampled_from(DIMENSIONS))
    counts = draw(st.lists(st.integers(0, 9), min_size=2, max_size=4))
    grid = st.integers(0, 4).map(lambda i: i / 4)
    rows = st.lists(grid, min_size=sum(counts), max_size=sum(counts))
    positions = np.array([draw(rows) for _ in range(dimension)]).reshape(dimension, -1)
    return positions, drawn(sum(counts), seed=draw(st.integers(0, 9))), np.cumsum([0, *counts])


class TestP2p:
    def test_two_charges_repel_each_other(self):
        positions, q = np.array([[0.0, 0.0], [0.0, 3.0], [0.0, 4.0]]), np.array([2.0, 50.0])
        result = np.zeros((4, 2))
        symmetric(positions, q, np.array([0, 1, 2]), np.array([0]), np.array([1]), result)()
        expected = [[10.0, 0.4], [0, 0], [-2.4, 2.4], [-3.2, 3.2]]
        np.testing.assert_allclose(result, expected, rtol=1e-14)

    def test_in_2d_the_potential_is_the_logarithm(self):
        positions, q = np.array([[0.0, 0.0], [0.0, 0.5]]), np.array([2.0, 3.0])
        result = due_to(positions, q, np.vstack([positions, q]))
        expected = [[3 * np.log(2), 2 * np.log(2)], [0, 0], [-12, 12]]
        np.testing.assert_allclose(result, expected, rtol=1e-14)

    @settings(deadline=None, max_examples=40)
    @given(leaves())
    def test_one_sided_changes_targets_only(self, particles):
        positions, q, offsets = particles
        leaf = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        result = np.zeros((1 + len(positions), len(q)))
        targets, sources = np.array([1, 0], np.int32), np.array([0, len(offsets) - 2], np.int32)
        one_sided(positions, q, offsets, targets, sources, result)()
        pairs = list(zip(targets.tolist(), sources.tolist(), strict=True))
        expected = summed(positions, q, lambda i, j: (leaf[i], leaf[j]) in pairs)
        np.testing.assert_allclose(result, expected, atol=1e-10)

    @settings(deadline=None, max_examples=40)
    @given(leaves())
    def test_every_leaf_and_pair_of_leaves_once_is_the_direct_sum(self, particles):
        positions, q, offsets = particles
        count = len(offsets) - 1
        target, source = np.triu_indices(count, 1)
        result = np.zeros((1 + len(positions), len(q)))
        one_sided(positions, q, offsets, np.arange(count), np.arange(count), result)()
        symmetric(positions, q, offsets, target, source, result)()
        np.testing.assert_allclose(result, summed(positions, q, lambda i, j: True), atol=1e-10)
        everything = due_to(positions, q, np.vstack([positions, q]))
        np.testing.assert_allclose(result, everything, atol=1e-10)
        np.testing.assert_allclose(result[1:].sum(axis=1), 0, atol=1e-10)

    @pytest.mark.parametrize("dimension", DIMENSIONS)
    def test_particles_in_one_place_do_not_act_on_each_other(self, dimension):
        positions, q = np.full((dimension, 20), 0.3), np.ones(20)
        result = np.zeros((1 + dimension, 20))
        one_sided(positions, q, np.array([0, 20]), np.array([0]), np.array([0]), result)()
        np.testing.assert_array_equal(result, 0)


def long_p2p():
    n = 8_000
    leaf = np.array([0])
    return one_sided(drawn(3, n), drawn(n), np.array([0, n]), leaf, leaf, np.zeros((4, n)))


def long_m2l():
    cells = np.zeros(100_000, int)
    pairs = by_position(np.full((len(cells), 3), 2), cells, cells)
    return operators(5, 3).m2l(pairs, drawn(1, 125), np.zeros((1, 125)), 1.0)


@pytest.mark.parametrize("made", [long_p2p, long_m2l])
def test_other_threads_run_meanwhile(made):
    assert lets_others_run(made(), 10)


def test_chosen_points_get_what_all_particles_do():
    positions, q = drawn(3, 30), drawn(30, seed=1)
    expected = summed(positions, q, lambda i, j: True)
    chosen = np.array([7, 0, 29])
    found = due_to(positions, q, np.vstack([positions, q])[:, chosen])
    np.testing.assert_allclose(found, expected[:, chosen], rtol=1e-12)


def test_kernels_are_imported_without_numba():
    code = "import sys, tasksim.kernels; sys.exit('numba' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
