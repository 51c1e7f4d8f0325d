"""Interacting cells of an octree, and their sums per pair of groups."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import few

from tasksim.base.errors import InputError
from tasksim.graph.octree import interactions
from tasksim.graph.octree.interactions import (
    m2l_groups,
    m2l_pairs,
    neighbour_groups,
    neighbour_pairs,
)
from tasksim.graph.octree.morton import decode, encode
from tasksim.graph.octree.tree import tree_of_counts


def full_tree(dimension, height):
    leaves = 1 << (dimension * (height - 1))
    return tree_of_counts(dimension, height, np.arange(leaves), np.ones(leaves, np.int64))


# --- the drawing of an 8 x 8 quadtree without the leaves 34, 35, 40 to 44 and 46 ---------------

MISSING = {34, 35, 40, 41, 42, 43, 44, 46}


@pytest.fixture(scope="module")
def drawing():
    leaves = np.array([leaf for leaf in range(64) if leaf not in MISSING])
    return tree_of_counts(2, 4, leaves, np.ones(56, np.int64))


def sources_of(tree, level, index):
    """The interaction list of the cell with this Morton index, as Morton indices."""
    pairs = m2l_pairs(tree, level)
    number = int(np.flatnonzero(tree.levels[level] == index)[0])
    return tree.levels[level][pairs.source[pairs.target == number]].tolist()


def test_interaction_list_of_an_interior_cell(drawing):
    # Cell 26 is (3, 4), its parent (1, 2): the children of the parents (0..2, 1..3), all there,
    # less the 3 x 3 cells around and at (3, 4).
    close = set(product(range(2, 5), range(3, 6)))
    expected = [cell for cell in product(range(6), range(2, 8)) if cell not in close]
    sources = sources_of(drawing, 3, 26)
    assert len(sources) == 27
    assert sources == sorted(encode(np.array(expected)).tolist())


def test_interaction_list_of_a_cell_at_the_border(drawing):
    # Cell 22 is (1, 6), its parent (0, 3): the children of the parents (0..1, 2..3) make a square
    # of 16 cells, of which one row and one column do not touch (1, 6).
    expected = [(0, 4), (1, 4), (2, 4), (3, 4), (3, 5), (3, 6), (3, 7)]
    sources = sources_of(drawing, 3, 22)
    assert len(sources) == 7
    assert sources == sorted(encode(np.array(expected)).tolist())


def test_pairs_per_pair_of_groups(drawing):
    groups = m2l_groups(drawing, 3, 8)
    pairs = dict(zip(zip(groups.target, groups.source, strict=True), groups.pairs, strict=True))
    inside = [pairs[g, g] for g in range(7)]
    outside = [sum(n for (a, b), n in pairs.items() if a == g != b) for g in range(7)]
    assert inside == [24, 24, 24, 24, 32, 24, 24]
    assert outside == [81, 134, 81, 150, 91, 142, 73]
    of_group_3 = {source: n for (target, source), n in pairs.items() if target == 3}
    assert of_group_3 == {0: 15, 1: 12, 2: 54, 3: 24, 4: 15, 5: 54}


def test_distinct_cells_of_a_pair_of_groups(drawing):
    # Group 1 has the children of the parents (1, 0) and (1, 1); group 4 two of (2, 0), all four
    # of (2, 1) and two of (3, 1), which does not touch a parent of group 1: cells 45 and 47 have
    # no part in 4 + 15 + 7 + 12 pairs.
    found = {row[:2]: row[2:] for row in rows(m2l_groups(drawing, 3, 8))}
    assert found[1, 4] == (38, 8, 6, 0)
    assert found[4, 1] == (38, 6, 8, 0)


# --- the definitions, cell by cell --------------------------------------------------------------


def distance(a, b):
    return max(abs(x - y) for x, y in zip(a, b, strict=True))


def is_m2l(a, b):
    above = distance([x // 2 for x in a], [x // 2 for x in b])
    return above <= 1 < distance(a, b)


def is_touching(a, b):
    return distance(a, b) == 1


def brute_pairs(tree, level, related):
    cells = [tuple(c) for c in decode(tree.levels[level], tree.dimension).tolist()]
    numbered = list(enumerate(cells))
    return [(i, j) for (i, a), (j, b) in product(numbered, numbered) if related(a, b)]


def brute_groups(pairs, group_size, weights):
    """Return what :func:`rows` does, from the pairs of cells."""
    found = {}
    for i, j in pairs:
        found.setdefault((i // group_size, j // group_size), []).append((i, j))
    return [
        (
            *group_pair,
            len(members),
            len({i for i, _ in members}),
            len({j for _, j in members}),
            sum(weights[i] * weights[j] for i, j in members),
        )
        for group_pair, members in sorted(found.items())
    ]


def rows(groups):
    """Return rows (target, source, pairs, target cells, source cells, work)."""
    columns = (
        *(groups.target, groups.source, groups.pairs),
        *(groups.target_cells, groups.source_cells, groups.work),
    )
    return [tuple(int(x) for x in row) for row in zip(*columns, strict=True)]


def as_list(pairs):
    return list(zip(pairs.target.tolist(), pairs.source.tolist(), strict=True))


@st.composite
def pruned_trees(draw):
    dimension = draw(st.sampled_from([2, 3]))
    height = draw(st.integers(1, 5 if dimension == 2 else 4))
    last = (1 << (dimension * (height - 1))) - 1
    # Dense trees have full lists, sparse ones missing parents: both are drawn, the dense ones
    # from an interval of the Morton curve.
    start = draw(st.integers(0, last))
    span = draw(st.sampled_from([last, min(last, 60)]))
    indices = st.integers(min(start, last - span), min(start, last - span) + span)
    leaves = sorted(draw(st.sets(indices, min_size=1, max_size=50)))
    counts = draw(st.lists(st.integers(1, 9), min_size=len(leaves), max_size=len(leaves)))
    return tree_of_counts(dimension, height, np.array(leaves), np.array(counts))


@given(tree=pruned_trees(), group_size=st.integers(1, 12), block=st.sampled_from([1, 600, 1 << 20]))
@settings(deadline=None, max_examples=few(150))
def test_agrees_with_the_definitions(tree, group_size, block):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interactions, "BLOCK_PAIRS", block)
        for level in range(tree.height):
            pairs = brute_pairs(tree, level, is_m2l)
            assert as_list(m2l_pairs(tree, level)) == pairs
            expected = brute_groups(pairs, group_size, [0] * len(tree.levels[level]))
            assert rows(m2l_groups(tree, level, group_size)) == expected
        pairs = brute_pairs(tree, tree.height - 1, is_touching)
        assert as_list(neighbour_pairs(tree)) == pairs
        expected = brute_groups(pairs, group_size, tree.counts.tolist())
        assert rows(neighbour_groups(tree, group_size)) == expected


@given(tree=pruned_trees())
@settings(deadline=None, max_examples=few(50))
def test_cells_are_found_without_a_table_too(tree):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(interactions, "TABLE_CELLS", 0)
        searched = neighbour_pairs(tree), m2l_pairs(tree, tree.height - 1)
    assert as_list(searched[0]) == as_list(neighbour_pairs(tree))
    assert as_list(searched[1]) == as_list(m2l_pairs(tree, tree.height - 1))


# --- full trees, whose counts are known ---------------------------------------------------------


@pytest.mark.parametrize(("dimension", "most"), [(2, 27), (3, 189)])
def test_interior_cells_of_a_full_tree_have_full_lists(dimension, most):
    tree = full_tree(dimension, 5)
    sizes = np.bincount(m2l_pairs(tree, 4).target)
    coordinates = decode(tree.levels[4], dimension)
    interior = ((coordinates >= 2) & (coordinates < 14)).all(axis=1)
    assert (sizes[interior] == most).all()
    assert (sizes[~interior] < most).all()
    touching = np.bincount(neighbour_pairs(tree).target)
    inside = ((coordinates > 0) & (coordinates < 15)).all(axis=1)
    assert (touching[inside] == 3**dimension - 1).all()
    assert (touching[~inside] < 3**dimension - 1).all()


@pytest.mark.parametrize(("dimension", "height"), [(2, 8), (3, 6)])
def test_totals_of_a_full_tree(dimension, height):
    # Per axis 3 * 2**l - 2 ordered pairs of cells are equal or touch on level l; each pair of
    # parents has 4 pairs of children per axis, less those that touch.
    tree = full_tree(dimension, height)
    close = [(3 * (1 << level) - 2) ** dimension for level in range(height)]
    for level in range(1, height):
        expected = 4**dimension * close[level - 1] - close[level]
        assert m2l_groups(tree, level, 33).pairs.sum() == expected
    expected = close[-1] - (1 << dimension * (height - 1))
    groups = neighbour_groups(tree, 33)
    assert groups.pairs.sum() == groups.work.sum() == expected


# --- special trees ------------------------------------------------------------------------------


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("height", [1, 2, 6])
def test_one_leaf_interacts_with_nothing(dimension, height):
    tree = tree_of_counts(dimension, height, np.array([1 if height > 1 else 0]), np.array([7]))
    for level in range(height):
        assert as_list(m2l_pairs(tree, level)) == []
        assert rows(m2l_groups(tree, level, 4)) == []
    assert as_list(neighbour_pairs(tree)) == []
    assert rows(neighbour_groups(tree, 4)) == []


@pytest.mark.parametrize(("dimension", "height"), [(2, 32), (3, 21)])
def test_the_deepest_trees(dimension, height):
    # Opposite corners of the box: the bits of one are all 0, of the other all 1, and nothing
    # wraps around. Only on level 2, of four cells per side, do the parents of the two touch. The
    # cell beside the last corner touches it.
    last = (1 << (dimension * (height - 1))) - 1
    tree = tree_of_counts(dimension, height, np.array([0, last - 1, last]), np.array([2, 3, 5]))
    assert as_list(neighbour_pairs(tree)) == [(1, 2), (2, 1)]
    assert rows(neighbour_groups(tree, 1)) == [(1, 2, 1, 1, 1, 15), (2, 1, 1, 1, 1, 15)]
    assert [level for level in range(height) if len(m2l_pairs(tree, level).target)] == [2]
    assert as_list(m2l_pairs(tree, 2)) == [(0, 1), (1, 0)]


def test_a_group_may_hold_all_cells(drawing):
    cells = len(drawing.levels[3])
    total = len(m2l_pairs(drawing, 3).target)
    for group_size in (cells, cells + 1, 10**12):
        assert rows(m2l_groups(drawing, 3, group_size)) == [(0, 0, total, cells, cells, 0)]


def test_work_of_crowded_leaves_does_not_overflow():
    tree = tree_of_counts(2, 2, np.array([0, 3]), np.array([3_000_000, 2_000_000]))
    assert neighbour_groups(tree, 2).work.tolist() == [2 * 3_000_000 * 2_000_000]


def test_memory_does_not_grow_with_the_pairs():
    import tracemalloc

    tree = full_tree(3, 6)  # six million pairs: 48 MB as two int32 columns
    tracemalloc.start()
    try:
        m2l_groups(tree, 5, 500)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 40e6


# --- wrong input --------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [-1, 4])
def test_a_level_that_the_tree_does_not_have(drawing, level):
    with pytest.raises(InputError, match=rf"level: got {level}, expected 0 to 3"):
        m2l_pairs(drawing, level)
    with pytest.raises(InputError, match=rf"level: got {level}, expected 0 to 3"):
        m2l_groups(drawing, level, 8)


@pytest.mark.parametrize("group_size", [0, -8])
def test_groups_of_no_cells(drawing, group_size):
    with pytest.raises(InputError, match=rf"group_size: got {group_size}"):
        m2l_groups(drawing, 3, group_size)
    with pytest.raises(InputError, match=rf"group_size: got {group_size}"):
        neighbour_groups(drawing, group_size)
