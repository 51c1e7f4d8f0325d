"""Morton indices and trees: small cases by hand, brute force, and laws."""

from __future__ import annotations

import doctest
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from tiers import few

from tasksim.base.errors import InputError
from tasksim.graph.octree import morton, particles, tree
from tasksim.graph.octree.morton import decode, encode, leaf_index
from tasksim.graph.octree.particles import DISTRIBUTIONS, all_positions, positions
from tasksim.graph.octree.tree import tree_of_counts, tree_of_distribution, tree_of_particles

GOLDEN_EMPTY = {34, 35, 40, 41, 42, 43, 44, 46}
DIMENSIONS = pytest.mark.parametrize("dimension", [2, 3])
EACH_DISTRIBUTION = pytest.mark.parametrize("distribution", DISTRIBUTIONS)


def brute_index(cell, bits):
    """Interleave the bits of integer coordinates, one by one."""
    index = 0
    for bit in reversed(range(bits)):
        for coordinate in cell:
            index = index << 1 | coordinate >> bit & 1
    return index


def brute_cell(position, side):
    """Halve the box until the cell of the particle is found."""
    return tuple(
        max(i for i in range(side) if i == 0 or i / side <= coordinate) for coordinate in position
    )


def brute_levels(points, height):
    """Per level the cells that hold particles, and how many the leaves hold."""
    levels = []
    for level in range(height):
        cells = (brute_index(brute_cell(p, 2**level), level) for p in points)
        levels.append(Counter(cells))
    return levels


def assert_same_tree(one, other):
    assert (one.dimension, one.height) == (other.dimension, other.height)
    assert len(one.levels) == len(other.levels)
    for ours, theirs in zip(one.levels, other.levels, strict=True):
        assert_array_equal(ours, theirs)
    assert_array_equal(one.counts, other.counts)


@st.composite
def clouds(draw):
    """Few particles, many of them on the borders of cells, at 1.0 or in the same place."""
    dimension = draw(st.sampled_from([2, 3]))
    border = st.integers(0, 8).map(lambda i: i / 8)
    below_border = border.map(lambda x: float(np.nextafter(x, 0)))
    coordinate = st.one_of(border, below_border, st.floats(0, 1))
    places = draw(st.lists(st.tuples(*[coordinate] * dimension), min_size=1, max_size=12))
    return np.array(draw(st.lists(st.sampled_from(places), min_size=1, max_size=30)))


# Morton indices


def test_the_examples_in_the_docstrings_are_true():
    result = doctest.testmod(morton)
    assert result.attempted > 0
    assert result.failed == 0


def test_the_first_coordinate_is_the_most_significant():
    flat = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [0, 2], [2, 0], [5, 3]])
    assert encode(flat).tolist() == [0, 1, 2, 3, 4, 8, 0b100111]
    solid = np.array([[0, 0, 1], [0, 1, 0], [1, 0, 0], [1, 1, 1], [3, 0, 2]])
    assert encode(solid).tolist() == [1, 2, 4, 7, 0b101100]


@DIMENSIONS
def test_the_cells_of_a_level_have_the_indices_from_0_on(dimension):
    cells = np.indices((8,) * dimension).reshape(dimension, -1).T
    assert sorted(encode(cells).tolist()) == list(range(8**dimension))


@settings(deadline=None)
@given(st.data(), st.sampled_from([2, 3]))
def test_encoding_interleaves_bits_and_decoding_undoes_it(data, dimension):
    bits = 62 // dimension
    coordinate = st.integers(0, 2**bits - 1)
    cells = data.draw(st.lists(st.tuples(*[coordinate] * dimension), min_size=1, max_size=20))
    index = encode(np.array(cells))
    assert index.tolist() == [brute_index(cell, bits) for cell in cells]
    assert decode(index, dimension).tolist() == [list(cell) for cell in cells]


@DIMENSIONS
def test_the_parent_of_a_cell_has_half_its_coordinates(dimension):
    cells = np.random.default_rng(0).integers(0, 2**20, (200, dimension))
    assert_array_equal(encode(cells) >> dimension, encode(cells >> 1))


@DIMENSIONS
def test_no_cells_have_no_indices(dimension):
    assert encode(np.empty((0, dimension), dtype=np.int64)).shape == (0,)
    assert decode(np.empty(0, dtype=np.int64), dimension).shape == (0, dimension)


@pytest.mark.parametrize(
    "cells",
    [[[-1, 0]], [[2**31, 0]], [[0, -1, 0]], [[0, 0, 2**20]], [[1]], [[1, 2, 3, 4]], [1, 2]],
)
def test_cells_outside_of_the_deepest_level_have_no_index(cells):
    with pytest.raises(InputError, match="coordinates: got"):
        encode(np.array(cells))


@pytest.mark.parametrize(("index", "dimension"), [(-1, 2), (2**62, 2), (2**60, 3), (0, 1), (0, 4)])
def test_indices_outside_of_the_deepest_level_have_no_cell(index, dimension):
    with pytest.raises(InputError, match="got"):
        decode(np.array([index]), dimension)


# The leaf of a particle


def test_a_particle_on_a_border_belongs_to_the_cell_above_it():
    below = float(np.nextafter(0.5, 0))
    points = np.array([[0, 0], [0, below], [0, 0.5], [0.5, 0], [0.5, 0.5], [below, below]])
    assert leaf_index(points, 2).tolist() == [0, 0, 1, 2, 3, 0]


@DIMENSIONS
@pytest.mark.parametrize("height", [1, 2, 5])
def test_a_particle_at_1_belongs_to_the_last_cell(dimension, height):
    last = 2 ** (dimension * (height - 1)) - 1
    assert leaf_index(np.ones((1, dimension)), height).tolist() == [last]


@pytest.mark.parametrize(("dimension", "height"), [(2, 32), (3, 21)])
def test_the_deepest_trees_have_exact_indices(dimension, height):
    side = 2 ** (height - 1)
    cells = np.array([[0] * dimension, [side - 1] * dimension, list(range(dimension))])
    assert_array_equal(leaf_index(cells / side, height), encode(cells))


@pytest.mark.parametrize("wrong", [-1e-300, 1.0000001, np.nan, np.inf, -np.inf])
def test_a_particle_outside_of_the_box_is_named(wrong):
    points = np.full((4, 3), 0.5)
    points[2, 1] = wrong
    with pytest.raises(InputError, match=r"particle 2 is at .*\(1 of 4 particles"):
        leaf_index(points, 3)


@pytest.mark.parametrize(("dimension", "height"), [(2, 0), (2, -1), (2, 33), (3, 0), (3, 22)])
def test_a_height_that_has_no_indices_is_refused(dimension, height):
    with pytest.raises(InputError, match=f"height: got {height}, expected 1 to"):
        leaf_index(np.zeros((1, dimension)), height)
    with pytest.raises(InputError, match=f"height: got {height}, expected 1 to"):
        tree_of_distribution("cube", 10, height, dimension)


# Trees


def test_the_tree_of_a_quadrant_with_holes():
    """The 2-D example of Agullo et al., Inria research report 9036: 56 of 8 x 8 cells."""
    leaves = np.array([i for i in range(64) if i not in GOLDEN_EMPTY])
    grown = tree_of_counts(2, 4, leaves, np.ones(56, dtype=np.int64))
    assert [len(cells) for cells in grown.levels] == [1, 4, 15, 56]
    assert_array_equal(grown.levels[3], leaves)
    # Of the 16 cells of level 2 only number 10 (leaves 40 to 43) is empty.
    assert grown.levels[2].tolist() == [*range(10), *range(11, 16)]
    assert grown.groups(3, 8) == 7
    assert leaves[24:32].tolist() == list(range(24, 32))
    assert leaves[32:40].tolist() == [32, 33, 36, 37, 38, 39, 45, 47]
    parents = [p for p in range(8) for _ in range(4)] + [8] * 2 + [9] * 4 + [10] * 2
    parents += [p for p in range(11, 15) for _ in range(4)]
    assert grown.parents(3).tolist() == parents
    assert grown.parents(2).tolist() == [0] * 4 + [1] * 4 + [2] * 3 + [3] * 4
    assert grown.parents(1).tolist() == [0] * 4


def test_particles_at_the_centres_of_those_cells_grow_the_same_tree():
    leaves = np.array([i for i in range(64) if i not in GOLDEN_EMPTY])
    centres = (decode(leaves, 2) + 0.5) / 8
    shuffled = np.random.default_rng(1).permutation(56)
    grown, order = tree_of_particles(centres[shuffled], 4)
    assert_same_tree(grown, tree_of_counts(2, 4, leaves, np.ones(56, dtype=np.int64)))
    assert_array_equal(centres[shuffled][order], centres)


@settings(deadline=None, max_examples=few(150))
@given(clouds(), st.integers(1, 4))
def test_a_tree_agrees_with_brute_force(points, height):
    grown, order = tree_of_particles(points, height)
    expected = brute_levels(points, height)
    assert [cells.tolist() for cells in grown.levels] == [sorted(cells) for cells in expected]
    assert grown.counts.tolist() == [expected[-1][leaf] for leaf in sorted(expected[-1])]
    for level in range(1, height):
        above = [grown.levels[level - 1][p] for p in grown.parents(level)]
        assert above == [c >> grown.dimension for c in grown.levels[level]]
    # Sorted by leaf, and within a leaf in the order given.
    leaf_of = leaf_index(points, height).tolist()
    assert order.tolist() == sorted(range(len(points)), key=lambda i: (leaf_of[i], i))


@settings(deadline=None)
@given(clouds(), st.integers(1, 4), st.integers(1, 6))
def test_groups_are_runs_of_cells(points, height, group_size):
    grown, _ = tree_of_particles(points, height)
    for level, cells in enumerate(grown.levels):
        assert grown.groups(level, group_size) == len({c // group_size for c in range(len(cells))})


@DIMENSIONS
@pytest.mark.parametrize("height", [1, 2, 6])
def test_one_particle_is_one_cell_per_level(dimension, height):
    grown, order = tree_of_particles(np.full((1, dimension), 0.7), height)
    assert [len(cells) for cells in grown.levels] == [1] * height
    assert grown.counts.tolist() == [1]
    assert order.tolist() == [0]


@DIMENSIONS
def test_all_particles_in_one_leaf(dimension):
    points = 0.3 + 1e-6 * np.random.default_rng(0).random((50, dimension))
    grown, order = tree_of_particles(points, 5)
    assert [len(cells) for cells in grown.levels] == [1] * 5
    assert grown.counts.tolist() == [50]
    assert order.tolist() == list(range(50))


def test_particles_in_the_same_place_stay_in_the_order_given():
    places = np.array([[0.9, 0.9], [0.1, 0.1]])
    grown, order = tree_of_particles(places[[0, 1, 0, 1, 0]], 10)
    assert grown.counts.tolist() == [2, 3]
    assert order.tolist() == [1, 3, 0, 2, 4]


@DIMENSIONS
def test_a_tree_of_height_1_is_its_root(dimension):
    grown, order = tree_of_particles(all_positions("cube", 20, dimension), 1)
    assert [cells.tolist() for cells in grown.levels] == [[0]]
    assert grown.counts.tolist() == [20]
    assert order.tolist() == list(range(20))
    assert grown.groups(0, 5) == 1


def test_no_particles_have_no_tree():
    with pytest.raises(InputError, match="particles: got 0, expected at least 1"):
        tree_of_particles(np.empty((0, 3)), 3)
    with pytest.raises(InputError, match="particles: got 0, expected at least 1"):
        tree_of_counts(2, 3, np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


@pytest.mark.parametrize("shape", [(4,), (4, 1), (4, 4), (2, 2, 2)])
def test_positions_are_rows_of_two_or_three(shape):
    with pytest.raises(InputError, match="positions: got shape"):
        tree_of_particles(np.zeros(shape), 3)


@pytest.mark.parametrize(
    ("leaves", "counts", "message"),
    [
        ([0, 2, 1], [1, 1, 1], "leaves: expected strictly ascending"),
        ([0, 1, 1], [1, 1, 1], "leaves: expected strictly ascending"),
        ([-1, 1], [1, 1], "from 0 to 15"),
        ([0, 16], [1, 1], "from 0 to 15"),
        ([0, 1], [1], "expected one equal length"),
        ([[0, 1]], [[1, 1]], "expected one equal length"),
        ([0, 1, 2], [1, 0, 2], "counts: leaf 1 has 0 particles"),
    ],
)
def test_leaves_that_make_no_tree_are_refused(leaves, counts, message):
    with pytest.raises(InputError, match=message):
        tree_of_counts(2, 3, np.array(leaves), np.array(counts))


def test_levels_that_are_not_there_are_refused():
    grown = tree_of_counts(2, 3, np.array([3, 7]), np.array([1, 1]))
    for level in (-1, 0, 3):
        with pytest.raises(InputError, match=f"level: got {level}, expected 1 to 2"):
            grown.parents(level)
    for level in (-1, 3):
        with pytest.raises(InputError, match=f"level: got {level}, expected 0 to 2"):
            grown.groups(level, 2)
    with pytest.raises(InputError, match="group_size: got 0"):
        grown.groups(2, 0)


def test_a_tree_keeps_its_own_leaves():
    leaves, counts = np.array([3, 7]), np.array([1, 2])
    grown = tree_of_counts(2, 3, leaves, counts)
    leaves[0] = counts[0] = 0
    assert grown.levels[2].tolist() == [3, 7]
    assert grown.counts.tolist() == [1, 2]


# Streaming


@DIMENSIONS
@EACH_DISTRIBUTION
@pytest.mark.parametrize("dense_leaves", [1 << 24, 0])
def test_a_streamed_tree_is_that_of_all_particles(
    distribution, dimension, dense_leaves, monkeypatch
):
    monkeypatch.setattr(particles, "CHUNK_PARTICLES", 64)
    monkeypatch.setattr(tree, "_DENSE_LEAVES", dense_leaves)
    streamed = tree_of_distribution(distribution, 1000, 5, dimension, seed=3)
    materialised, _ = tree_of_particles(all_positions(distribution, 1000, dimension, seed=3), 5)
    assert_same_tree(streamed, materialised)
    assert streamed.counts.sum() == 1000


@pytest.mark.parametrize("count", [1, 63, 64, 65, 128, 130])
def test_chunks_make_up_all_particles(count, monkeypatch):
    monkeypatch.setattr(particles, "CHUNK_PARTICLES", 64)
    chunks = list(positions("ball", count, 3, seed=5))
    assert [len(chunk) for chunk in chunks[:-1]] == [64] * (len(chunks) - 1)
    assert 1 <= len(chunks[-1]) <= 64
    assert_array_equal(np.concatenate(chunks), all_positions("ball", count, 3, seed=5))
    assert len(all_positions("ball", count, 3, seed=5)) == count


def test_a_deep_tree_is_streamed_without_a_table_of_all_leaves():
    streamed = tree_of_distribution("sphere", 3000, 21, seed=1)
    materialised, _ = tree_of_particles(all_positions("sphere", 3000, seed=1), 21)
    assert_same_tree(streamed, materialised)
