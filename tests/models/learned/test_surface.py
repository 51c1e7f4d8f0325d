from __future__ import annotations

import numpy as np
import pytest

from tasksim.models.learned.surface import Moments, pairs_of


@pytest.fixture
def table():
    return np.random.default_rng(0).random((80, 3))


def bent(table):
    return 1.0 + 2 * table[:, 0] - table[:, 1] * table[:, 2] + 3 * table[:, 2] ** 2


def test_a_quadratic_function_is_found(table):
    found = Moments.of(table, bent(table), pairs_of([0, 1, 2], [False] * 3)).at(1e-9)
    other = np.random.default_rng(1).random((9, 3))
    assert found.predict(other) == pytest.approx(bent(other), abs=1e-3)


def test_without_products_it_is_a_plane(table):
    values = 1.0 + 2 * table[:, 0] - table[:, 1]
    found = Moments.of(table, values, pairs_of([0, 1, 2], [False] * 3)).at(np.inf)
    assert len(found.bends) == 0
    assert found.slopes == pytest.approx([2, -1, 0], abs=1e-4)


def test_sums_and_multiples(table):
    moments = Moments.of(table, bent(table), pairs_of([0, 1, 2], [False] * 3))
    one, other = moments.at(1e-3), moments.at(np.inf)
    both = one.scaled(0.25).plus(other.scaled(2.0))
    expected = 0.25 * one.predict(table) + 2 * other.predict(table)
    assert both.predict(table) == pytest.approx(expected)


def test_categories_of_a_parameter_have_no_products():
    """Column 0 is a number, columns 1 and 2 are the categories of one parameter."""
    pairs = pairs_of([0, 1, 1], [False, True, True])
    assert pairs.tolist() == [[0, 0], [0, 1], [0, 2]]


def test_of_too_many_products_those_with_categories_go():
    pairs = pairs_of([*range(10), *[10] * 50], [False] * 10 + [True] * 50)
    assert len(pairs) == 55
    assert pairs.max() == 9
