"""Adaptive splines and sparse grids, which kernel models are compared with."""

import numpy as np
import pytest

from benchmarks.splines import Mars, SparseGrid, _hats


def drawn(count, columns, seed=0):
    return np.random.default_rng(seed).uniform(0, 1, (count, columns))


def bent(table):
    return 6 * np.maximum(table[:, 0] - 0.4, 0) + table[:, 1] * table[:, 2]


def test_adaptive_splines_find_the_bend_and_the_product():
    table = drawn(400, 4)
    model = Mars(degree=2).fit(table, bent(table))
    test = drawn(500, 4, seed=1)
    assert np.abs(model.predict(test) - bent(test)).mean() < 0.01
    alone = Mars(degree=1).fit(table, bent(table))
    assert all(len(factors) < 2 for factors in alone.functions)
    assert np.abs(alone.predict(test) - bent(test)).mean() > 0.03


def test_adaptive_splines_continue_linearly():
    table = drawn(200, 1)
    model = Mars(degree=1).fit(table, 3 * table[:, 0] + 1)
    assert model.predict(np.array([[2.0], [-1.0]])) == pytest.approx([7.0, -2.0], abs=1e-6)


def test_noise_adds_no_functions():
    table = drawn(300, 3)
    values = table[:, 0] + np.random.default_rng(2).normal(0, 0.1, 300)
    assert len(Mars(degree=2).fit(table, values).functions) <= 6


@pytest.mark.parametrize(("columns", "level", "count"), [(1, 3, 7), (2, 3, 17), (3, 2, 7)])
def test_a_sparse_grid_has_so_many_hats(columns, level, count):
    """In one dimension they are those of the full grid; in several, products of wide ones."""
    hats = list(_hats(columns, level))
    assert len(hats) == len(set(hats)) == count


def test_a_sparse_grid_approaches_a_smooth_function():
    table, test = drawn(600, 2), drawn(500, 2, seed=1)

    def waves(rows):
        return np.sin(4 * rows[:, 0]) + rows[:, 0] * rows[:, 1]

    errors = [
        np.abs(SparseGrid(level).fit(table, waves(table)).predict(test) - waves(test)).mean()
        for level in (2, 4, 6)
    ]
    assert errors[0] > 4 * errors[1] > 16 * errors[2]


def test_a_sparse_grid_of_many_columns_has_a_lower_level():
    table = drawn(100, 12)
    assert len(SparseGrid(6).fit(table, table[:, 0])._hats) <= 2000
