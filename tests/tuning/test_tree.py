"""The tree: leaves and splits on tables made by hand, ties, invariance, a loop over all splits."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasksim.base.errors import InputError
from tasksim.tuning.table import PerformanceTable
from tasksim.tuning.tree import UNITS_PER_SHARE, Leaf, Split, StoppingCriteria, best_split, grow

FULL_GROWTH = StoppingCriteria(threshold=1.0)


def table(features, performance, limit=None):
    return PerformanceTable.of(features, performance, limit)


def test_a_leaf_says_the_choice_that_loses_least_not_the_one_that_is_best_most_often():
    """a is best twice, but costs 90 % of the third example; b loses 10 % of two."""
    found = grow(
        table({"n": [1, 1, 1]}, {"a": [10, 10, 1], "b": [9, 9, 10]}),
        StoppingCriteria(threshold=0.5),
    )
    assert found.root == Leaf(1, pytest.approx((0.9 + 0.9 + 1) / 3), 3)


def test_a_split_separates_what_wants_different_choices():
    found = grow(table({"n": [1, 2, 4, 8]}, {"a": [4, 4, 1, 1], "b": [2, 2, 3, 3]}))
    assert found.root == Split(0, 3.0, Leaf(0, 1.0, 2), Leaf(1, 1.0, 2))
    assert found.choose(np.array([[3.0], [3.1]])).tolist() == [0, 1]
    assert (len(found), found.depth) == (3, 1)


def test_of_choices_as_good_the_first_one_is_said():
    found = grow(
        table({"n": [1, 2]}, {"a": [1, 2], "b": [2, 1], "c": [2, 1]}), StoppingCriteria(depth=0)
    )
    assert found.root == Leaf(0, 0.75, 2)


def test_of_splits_as_good_the_first_feature_s_lowest_is_made():
    """Both features, and both thresholds of the first, gain as much."""
    found = grow(
        table({"x": [1, 2, 3], "y": [3, 2, 1]}, {"a": [2, 2, 1], "b": [1, 2, 2]}),
        StoppingCriteria(depth=1),
    )
    assert (found.root.feature, found.root.threshold) == (0, 1.5)


def test_no_split_is_made_that_gains_nothing():
    """Of a chess board no single question tells anything."""
    board = table({"x": [0, 0, 1, 1], "y": [0, 1, 0, 1]}, {"a": [2, 1, 1, 2], "b": [1, 2, 2, 1]})
    assert grow(board, FULL_GROWTH).root == Leaf(0, 0.75, 4)


def test_examples_that_cannot_be_told_apart_are_a_leaf():
    assert isinstance(
        grow(table({"n": [5, 5]}, {"a": [1, 2], "b": [2, 1]}), FULL_GROWTH).root, Leaf
    )


def test_growth_stops_where_it_is_told_to():
    """Each of eight examples has a best choice of its own, twice as good as the others."""
    own = {f"c{best}": [1.0 + (best == row) for row in range(8)] for best in range(8)}
    eight = table({"n": range(8)}, own)
    assert (len(grow(eight, FULL_GROWTH)), grow(eight, FULL_GROWTH).depth) == (15, 7)
    assert grow(eight, StoppingCriteria(1.0, depth=2)).depth == 2
    assert [
        leaf.examples for leaf in leaves(grow(eight, StoppingCriteria(1.0, min_samples=3)))
    ] == [
        *[1] * 5,
        3,
    ]
    # One of two is .75, one of three .67.
    assert [leaf.examples for leaf in leaves(grow(eight, StoppingCriteria(0.7)))] == [*[1] * 6, 2]


def leaves(tree):
    return [node for node in tree.nodes() if isinstance(node, Leaf)]


def test_thresholds_separate_numbers_next_to_each_other():
    near = [1.0, np.nextafter(1.0, 2.0)]
    found = grow(table({"n": near}, {"a": [2, 1], "b": [1, 2]}))
    assert found.choose(np.array(near)[:, None]).tolist() == [0, 1]


def test_a_limit_makes_larger_choices_the_largest_that_is_allowed():
    found = table({"n": [1, 2]}, {"1": [3, 1], "4": [9, 2], "2": [2, 1]}, limit=[2, 9])
    assert found.allowed.tolist() == [[True, False, True], [True, True, True]]
    assert found.made.tolist() == [[0, 2, 2], [0, 1, 2]]
    assert found.shares.tolist() == [[1, 2 / 3, 2 / 3], [0.5, 1, 0.5]]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"threshold": 1.5}, "threshold: got 1.5; legal: a number from 0 to 1"),
        ({"depth": 61}, "depth: got 61; legal: a number from 0 to 60"),
        ({"min_samples": 0}, "min_samples: got 0; legal: a number from 1"),
        ({"threshold": float("nan")}, "threshold: got nan"),
    ],
)
def test_growth_out_of_its_limits_is_refused(wrong, message):
    with pytest.raises(InputError, match=message):
        StoppingCriteria(**wrong)


def by_hand(units, values):
    """Return the best split, by trying all of them."""
    best = None
    for feature in range(values.shape[1]):
        distinct = sorted(set(values[:, feature]))
        for low, high in itertools.pairwise(distinct):
            left = values[:, feature] <= low
            score = int(units[left].sum(axis=0).max() + units[~left].sum(axis=0).max())
            if best is None or score > best[2]:
                best = feature, (low / 2 + high / 2), score
    return best


@st.composite
def tables(draw):
    rows, features, choices = (
        draw(st.integers(1, 12)),
        draw(st.integers(1, 3)),
        draw(st.integers(1, 4)),
    )
    small = st.integers(1, 5).map(float)
    values = draw(st.lists(small, min_size=rows * features, max_size=rows * features))
    performance = draw(st.lists(small, min_size=rows * choices, max_size=rows * choices))
    return np.reshape(values, (rows, features)), np.reshape(performance, (rows, choices))


def of_arrays(values, performance):
    return table(
        {f"x{i}": column for i, column in enumerate(values.T)},
        {f"c{i}": column for i, column in enumerate(performance.T)},
    )


@given(tables())
def test_the_split_is_the_one_that_a_loop_over_all_finds(arrays):
    values, performance = arrays
    units = np.rint(of_arrays(values, performance).shares * UNITS_PER_SHARE).astype(np.int64)
    assert best_split(units, values) == by_hand(units, values)


@given(tables(), st.lists(st.floats(1e-6, 1e6), min_size=12, max_size=12))
def test_the_unit_of_a_row_s_performance_makes_no_difference(arrays, factors):
    values, performance = arrays
    scaled = performance * np.array(factors)[: len(values), None]
    assert grow(of_arrays(values, performance), FULL_GROWTH) == grow(
        of_arrays(values, scaled), FULL_GROWTH
    )


@settings(max_examples=50)
@given(tables())
def test_a_tree_is_never_worse_than_the_best_constant_on_what_taught_it(arrays):
    found = of_arrays(*arrays)
    tree = grow(found, FULL_GROWTH)
    shares = found.shares[np.arange(len(found)), tree.choose(found.values)]
    assert shares.mean() >= found.shares.mean(axis=0).max() - 1e-9
    assert sum(leaf.examples for leaf in leaves(tree)) == len(found)
    assert len(tree) == 2 * len(leaves(tree)) - 1
