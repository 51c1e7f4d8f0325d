"""Completing tensors: least squares of logarithms, Newton steps on positive factors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiers import few

from tasksim.models.tensor.completed import end_slopes, rank_one, slopes
from tasksim.models.tensor.completion import (
    RowProblem,
    balance,
    complete,
    complete_positive,
    elements,
)
from tasksim.models.tensor.grid import ObservedCells, cell_indices, make_axis, observed, slices


def some_cells(factors, count, seed=0):
    """Return *count* observed elements of the tensor with these *factors*."""
    rng = np.random.default_rng(seed)
    shape = tuple(len(factor) for factor in factors)
    flat = np.sort(rng.choice(int(np.prod(shape)), count, replace=False))
    index = np.stack(np.unravel_index(flat, shape), axis=1)
    return ObservedCells(index, elements(factors, index), np.arange(count), shape)


def random_factors(shape, rank, seed=0, positive=False):
    rng = np.random.default_rng(seed)
    if positive:
        return [rng.uniform(0.5, 2, (length, rank)) for length in shape]
    return [rng.standard_normal((length, rank)) for length in shape]


def test_elements_are_means_of_the_measurements_in_a_cell():
    axes = [make_axis(name, np.array([1.0, 2.0, 4.0]), "own", 9) for name in "mn"]
    table = np.array([[1.0, 4], [2, 2], [1, 4], [1, 1]])
    cells = observed(axes, cell_indices(axes, table), np.array([1.0, 5.0, 3.0, 7.0]))
    assert cells.index.tolist() == [[0, 0], [0, 2], [1, 1]]
    assert cells.values.tolist() == [7, 2, 5]
    assert cells.owner.tolist() == [1, 2, 1, 0]
    assert cells.density == pytest.approx(3 / 9)
    assert [part.rows.tolist() for part in slices(cells)] == [[0, 1], [0, 1, 2]]


@pytest.mark.parametrize(("shape", "rank"), [((8, 9), 1), ((10, 11, 12), 2), ((6, 6, 6, 6), 3)])
def test_a_tensor_of_low_rank_is_completed(shape, rank):
    truth = [1 + 0.5 * factor for factor in random_factors(shape, rank)]
    cells = some_cells(truth, min(10 * rank * sum(shape), int(0.8 * np.prod(shape))))
    found = complete(cells, rank, 1e-7, starts=4, sweeps=400)
    everywhere = np.stack([part.ravel() for part in np.indices(shape)], axis=1)
    error = elements(found, everywhere) - elements(truth, everywhere)
    assert np.sqrt((error**2).mean()) < 0.03 * elements(truth, everywhere).std()


def test_nine_modes_do_not_collapse_to_zero():
    truth = [1 + 0.3 * factor for factor in random_factors((4,) * 9, 1)]
    cells = some_cells(truth, 2000)
    error = elements(complete(cells, 1, 1e-6), cells.index) - cells.values
    assert np.abs(error).max() < 0.02 * cells.values.std()


def test_a_row_is_the_ridge_regression_of_its_own_observations():
    cells = ObservedCells(np.array([[0, 0], [0, 1]]), np.array([2.0, 4.0]), np.arange(2), (1, 2))
    start = [np.ones((1, 1)), np.array([[1.0], [2.0]])]
    once = complete(cells, 1, 0.1, start=start, sweeps=1)
    u = (2 * 1 + 4 * 2) / (1 + 4 + 2 * 0.1)
    v = [2 * u / (u**2 + 0.1), 4 * u / (u**2 + 0.1)]
    assert elements(once, cells.index) == pytest.approx([u * v[0], u * v[1]])


def test_a_huge_ridge_gives_the_constant_zero():
    cells = some_cells(random_factors((6, 7), 2), 30)
    assert np.abs(elements(complete(cells, 2, 1e9), cells.index)).max() < 1e-6


def test_rows_without_observations_do_not_change_the_others():
    truth = random_factors((5, 6), 1)
    full = some_cells(truth, 30)
    index = full.index + (full.index > 2)
    apart = ObservedCells(index, full.values, full.owner, (6, 7))
    start = [np.ones((5, 1)), np.ones((6, 1))]
    wide = [np.ones((6, 1)), np.ones((7, 1))]
    few = complete(full, 1, 1e-4, start=start)
    many = complete(apart, 1, 1e-4, start=wide)
    found = elements(many, index)
    assert found == pytest.approx(elements(few, full.index), rel=1e-3)


def test_the_order_of_observations_does_not_matter():
    cells = some_cells(random_factors((6, 7, 8), 2), 200)
    order = np.random.default_rng(1).permutation(200)
    other = ObservedCells(cells.index[order], cells.values[order], cells.owner, cells.shape)
    first, second = (elements(complete(c, 2, 1e-3), cells.index) for c in (cells, other))
    assert first == pytest.approx(second, rel=1e-6, abs=1e-9)


def test_balancing_leaves_the_tensor_as_it_is():
    factors = random_factors((4, 5, 6), 3)
    factors[0] *= 1e6
    cells = some_cells(factors, 100)
    balance(factors)
    assert elements(factors, cells.index) == pytest.approx(cells.values)
    norms = [np.linalg.norm(factor, axis=0) for factor in factors]
    assert norms[0] == pytest.approx(norms[1])
    assert norms[0] == pytest.approx(norms[2])


def problem(seed):
    """Return rows, other factors' rows, and logarithms of durations, sorted by row."""
    rng = np.random.default_rng(seed)
    cells = some_cells(random_factors((4, 20), 2, seed, positive=True), 40, seed)
    part = slices(cells)[0]
    rows = rng.uniform(0.3, 2, (len(part.rows), 2))
    return rows, rng.uniform(0.5, 2, (40, 2)), rng.normal(0, 0.5, 40), part


def test_gradients_are_those_of_the_objective():
    rows, k, log_t, part = problem(0)
    gradient, _ = RowProblem(k, log_t, part, 0.1, 0.2).descent(rows)
    for component in range(2):
        step = np.zeros_like(rows)
        step[:, component] = 1e-6
        up, down = (RowProblem(k, log_t, part, 0.1, 0.2).objective(rows + s) for s in (step, -step))
        assert 2 * gradient[:, component] == pytest.approx((up - down) / 2e-6, rel=1e-5, abs=1e-7)


def test_the_matrix_is_the_hessian_where_the_fit_is_exact():
    rows, k, _, part = problem(1)
    log_t = np.log((k * np.repeat(rows, part.counts, axis=0)).sum(axis=1))
    _, matrix = RowProblem(k, log_t, part, 0.1, 0.2).descent(rows)
    for component in range(2):
        step = np.zeros_like(rows)
        step[:, component] = 1e-5
        up, down = (
            RowProblem(k, log_t, part, 0.1, 0.2).descent(rows + s)[0] for s in (step, -step)
        )
        assert matrix[:, :, component] == pytest.approx((up - down) / 2e-5, rel=1e-4, abs=1e-6)


@settings(max_examples=few(20), deadline=None)
@given(seed=st.integers(0, 10**6), rank=st.integers(1, 3))
def test_factors_stay_positive_and_explain_positive_tensors(seed, rank):
    truth = random_factors((6, 7), 1, seed, positive=True)
    cells = some_cells(truth, 35, seed)
    logs = np.log(cells.values)
    centred = ObservedCells(cells.index, logs - logs.mean(), cells.owner, cells.shape)
    found = complete_positive(centred, rank, 1e-7, seed=seed)
    assert all((factor > 0).all() for factor in found)
    assert np.abs(np.log(elements(found, cells.index)) - centred.values).mean() < 0.01


def test_positive_rows_without_observations_are_the_geometric_mean():
    cells = ObservedCells(
        np.array([[0, 0], [2, 0], [0, 1], [2, 1]]), np.zeros(4), np.arange(4), (3, 2)
    )
    first = complete_positive(cells, 1, 1e-6)[0][:, 0]
    assert first[1] == pytest.approx(np.sqrt(first[0] * first[2]))


def test_lines_through_the_last_points():
    x = np.arange(10.0)
    y = np.stack([np.where(x < 5, 0, x - 5), 2 * x], axis=1)
    assert slopes(x, 3 * y[:, 1:]) == pytest.approx([6])
    assert end_slopes(x, y, "line", 4) == pytest.approx(np.array([[0, 2], [1, 2]]))
    assert end_slopes(x[:1], y[:1], "line", 4).tolist() == [[0, 0], [0, 0]]


def test_splines_find_their_knots():
    x = np.arange(12.0)
    y = np.where(x < 6, 0.5 * x, 3 + 2 * (x - 6))
    assert end_slopes(x, y[:, None], "spline", 6) == pytest.approx(np.array([[0.5], [2]]))
    straight = end_slopes(x, 3 * x[:, None] + 1, "spline", 6)
    assert straight == pytest.approx(np.array([[3], [3]]))
    short = end_slopes(x[:2], 3 * x[:2, None], "spline", 6)
    assert short == pytest.approx(np.array([[3], [3]]))


def test_the_rank_one_column_of_a_positive_matrix_is_positive():
    column = np.array([1.0, 2.0, 2.0])
    assert rank_one(np.outer(column, [1.0, 5.0])) == pytest.approx(column / 3)
