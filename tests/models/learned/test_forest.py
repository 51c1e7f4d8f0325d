"""Trees: what they add up to is counted by hand, and what they learn is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksim.core.library import library
from tasksim.models.learned import forest as module
from tasksim.models.learned.forest import DEPTH, LEAF_RIDGE, Forest, Growth


def steps(table):
    return np.where(table[:, 0] > 0.5, 2.0, 0.0) + np.where(table[:, 1] > 0.25, 1.0, 0.0)


def test_the_answers_are_the_bits_of_an_index():
    """One question, six times: yes to all is the last value, no to all the first."""
    values = np.arange(64.0)[None, :]
    asked = np.zeros((1, DEPTH), dtype=np.intp)
    forest = Forest([np.array([0.5])], asked, asked, values)
    assert forest.predict(np.array([[0.2], [0.7]])).tolist() == [0.0, 63.0]


@given(st.integers(1, 9), st.integers(0, 1000))
def test_a_forest_is_the_sum_of_its_trees(count, seed):
    rng = np.random.default_rng(seed)
    borders = [np.sort(rng.random(5)), np.array([0.5]), np.empty(0)]
    columns = rng.integers(0, 2, (count, DEPTH))
    cells = np.where(columns == 0, rng.integers(0, 5, columns.shape), 0)
    values = rng.normal(size=(count, 2**DEPTH))
    table = rng.random((20, 3))
    expected = np.zeros(20)
    for tree in range(count):
        index = np.zeros(20, dtype=int)
        for column, cell in zip(columns[tree], cells[tree], strict=True):
            index = 2 * index + (table[:, column] >= borders[column][cell])
        expected += values[tree][index]
    forest = Forest(borders, columns, cells, values)
    assert forest.predict(table) == pytest.approx(expected)
    assert forest.scaled(2.0).predict(table) == pytest.approx(2 * expected)


@pytest.mark.skipif(library() is None, reason="no compiled core")
@given(st.integers(1, 9), st.integers(1, 600), st.integers(0, 1000))
def test_the_core_gives_the_same_bytes(count, rows, seed):
    rng = np.random.default_rng(seed)
    # Borders among the values themselves: a row at a border answers yes.
    table = rng.integers(0, 9, (rows, 3)) / 8
    forest = Growth(table, rng.normal(size=rows), seed).grow(count).forest()
    other = np.vstack([table, *[np.full((1, 3), border) for border in np.hstack(forest.borders)]])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "functions", lambda: None)
        alone = forest.predict(other)
    assert forest.predict(other).tobytes() == alone.tobytes()


@pytest.mark.skipif(library() is None, reason="no compiled core")
@given(st.integers(2, 200), st.integers(1, 4), st.integers(0, 1000))
def test_the_core_grows_the_same_trees(rows, columns, seed):
    rng = np.random.default_rng(seed)
    table, values = rng.integers(0, 20, (rows, columns)) / 8, rng.normal(size=rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "functions", lambda: None)
        alone = Growth(table, values, seed).grow(4).forest()
    found = Growth(table, values, seed).grow(4).forest()
    assert found.values.tobytes() == alone.values.tobytes()
    assert np.array_equal(found.columns, alone.columns)
    assert np.array_equal(found.cells, alone.cells)


def test_steps_are_learnt():
    table = np.random.default_rng(0).random((400, 3))
    forest = Growth(table, steps(table), 0).grow(60).forest()
    # Borders lie between two of 400 values: rows that near a step may be on its other side.
    other = np.random.default_rng(1).random((300, 3))
    far = (np.abs(other[:, 0] - 0.5) > 0.02) & (np.abs(other[:, 1] - 0.25) > 0.02)
    assert np.abs(forest.predict(other) - steps(other))[far].max() < 0.1


def test_the_first_tree_takes_a_part_of_each_mean():
    """Four rows on either side: a value is rate times sum over count plus ridge."""
    table = np.repeat([0.0, 1.0], 4)[:, None]
    forest = Growth(table, np.repeat([-1.0, 1.0], 4), 0).grow(1).forest()
    expected = 0.2 * 4 / (4 + LEAF_RIDGE)
    assert forest.predict(table) == pytest.approx(np.repeat([-expected, expected], 4))


def test_where_all_rows_are_equal_nothing_grows():
    growth = Growth(np.ones((9, 2)), np.arange(9.0), 0)
    assert not growth.possible
    assert growth.errors(np.ones((2, 2)), np.ones(2), 50).tolist() == [1.0]
    assert len(growth.forest()) == 0
    assert growth.forest().predict(np.ones((2, 2))).tolist() == [0.0, 0.0]


def test_growth_ends_when_rows_held_out_gain_nothing():
    rng = np.random.default_rng(0)
    table, noise = rng.random((200, 2)), rng.normal(size=200)
    errors = Growth(table, noise, 0).errors(rng.random((500, 2)), np.zeros(500), 400)
    assert errors.argmin() == 0
    assert len(errors) < 60


def test_the_same_seed_grows_the_same_trees():
    table = np.random.default_rng(0).random((300, 2))
    one, same, other = (Growth(table, steps(table), seed).grow(5).forest() for seed in (1, 1, 2))
    assert np.array_equal(one.values, same.values)
    assert not np.array_equal(one.values, other.values)
