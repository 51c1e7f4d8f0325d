"""The process against the formulas of the textbook, written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksim.core.library import library
from tasksim.models.learned import process
from tasksim.models.learned.process import (
    Process,
    ProcessRegression,
    Scales,
    Variance,
    learn_scales,
)
from tasksim.models.probablescales import improbability


def correlations(a, b, lengths):
    squares = (((a[:, None, :] - b[None, :, :]) / lengths) ** 2).sum(axis=2)
    return 1 / (1 + squares / 2)


def waves(table):
    return np.sin(5 * table[:, 0]) + table[:, 1]


@pytest.fixture
def rows():
    return np.random.default_rng(0).random((60, 2))


def test_with_all_rows_as_centres_it_is_the_posterior_mean(rows):
    values = waves(rows) - waves(rows).mean()
    scales = Scales(np.array([0.4, 0.9]), 2.0, 0.02)
    found = ProcessRegression.of(rows, values, scales, 0).at(1.0)
    own = correlations(rows, rows, scales.lengths)
    weights = np.linalg.solve(scales.signal * own + scales.noise * np.eye(60), values)
    other = np.random.default_rng(1).random((9, 2))
    expected = scales.signal * correlations(other, rows, scales.lengths) @ weights
    assert found.predict(other) == pytest.approx(expected, abs=1e-3)
    assert found.scaled(0.5).predict(other) == pytest.approx(expected / 2, abs=1e-3)


def test_few_centres_serve_many_rows(monkeypatch):
    monkeypatch.setattr(process, "MAX_CENTRES", 64)
    table = np.random.default_rng(0).random((3000, 2))
    values = waves(table) - waves(table).mean()
    found = ProcessRegression.of(table, values, Scales(np.array([0.4, 0.9]), 1.0, 1e-4), 0).at(1.0)
    assert len(found.weights) == 64
    assert np.abs(found.predict(table) - values).max() < 0.02


def test_the_gradient_is_that_of_the_probability(rows):
    first = np.log([0.85, 0.85, 1.0, 0.05])
    at = first + np.random.default_rng(2).normal(0, 0.3, 4)
    values, of = waves(rows) - waves(rows).mean(), np.array([0, 1])

    def value_and_gradient(logs):
        return improbability(logs, process._correlations, rows, values, of, first)

    gradient = value_and_gradient(at)[1]
    for place in range(4):
        step = np.zeros(4)
        step[place] = 1e-5
        slope = (value_and_gradient(at + step)[0] - value_and_gradient(at - step)[0]) / 2e-5
        assert gradient[place] == pytest.approx(slope, rel=1e-4, abs=1e-6)


def test_a_parameter_without_effect_has_a_long_scale():
    table = np.random.default_rng(0).random((200, 2))
    values = np.sin(9 * table[:, 0])
    scales = learn_scales(table, values - values.mean(), [0, 1])
    assert scales.lengths[1] > 5 * scales.lengths[0]
    assert scales.noise < 0.01 * scales.signal


def test_columns_of_a_parameter_share_a_scale():
    table = np.eye(3)[np.random.default_rng(0).integers(0, 3, 90)]
    scales = learn_scales(table, table[:, 0] - table[:, 0].mean(), [0, 0, 0])
    assert len(set(scales.lengths.tolist())) == 1


def drawn(seed, centres, columns, scale, rounding=None):
    rng = np.random.default_rng(seed)
    lengths, places = np.exp(rng.normal(size=columns)), rng.normal(size=(centres, columns))
    weights, table = scale * rng.normal(size=centres), rng.random((rng.integers(1, 300), columns))
    if rounding is not None:  # of a row at a centre, products cancel each other
        table[0] = places[0] * lengths
    return Process(lengths, places, weights, rounding=rounding), table


ROUNDING_LIMITS = st.sampled_from([None, 2e-4, 1e-3])
"""None: differences of coordinates, as in files of earlier versions. Otherwise products of them."""


@given(
    st.integers(0, 1000),
    st.integers(1, 200),
    st.integers(1, 12),
    st.sampled_from([1, 1e4]),
    ROUNDING_LIMITS,
)
def test_the_mean_is_the_weighted_sum_of_covariances(seed, centres, columns, scale, rounding):
    """Single precision where weights are small, double where they are large."""
    found, table = drawn(seed, centres, columns, scale, rounding)
    exact = correlations(table / found.lengths, found.centres, 1.0) @ found.weights
    single = found._packed.centres.dtype == np.float32
    if rounding is None:
        assert single == (scale == 1)
    assert found.predict(table) == pytest.approx(exact, abs=(rounding or 2e-4) if single else 1e-8)


@pytest.mark.skipif(library() is None, reason="no compiled core")
@given(
    st.integers(0, 1000),
    st.integers(1, 200),
    st.integers(1, 12),
    st.sampled_from([1, 1e4]),
    ROUNDING_LIMITS,
)
def test_the_core_gives_the_same_bytes(seed, centres, columns, scale, rounding):
    found, table = drawn(seed, centres, columns, scale, rounding)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "functions", lambda: None)
        alone = found.predict(table)
    assert found.predict(table).tobytes() == alone.tobytes()


@pytest.mark.parametrize("rounding", [None, 1e-3])
def test_a_row_is_predicted_alone_as_among_others(rounding):
    found, table = drawn(3, 100, 4, 1, rounding)
    assert found._packed.by_products == (rounding is not None)
    assert np.concatenate([found.predict(row[None]) for row in table]).tolist() == (
        found.predict(table).tolist()
    )


def test_far_rows_have_next_to_no_covariance():
    """Squares that no number of single precision holds, from lengths of some other file."""
    for rounding in (None, 1e-3):
        found = Process(np.array([1e-30]), np.zeros((5, 1)), np.ones(5), rounding=rounding)
        assert np.abs(found.predict(np.array([[1.0]]))).max() < 1e-6


def test_products_are_taken_where_they_are_exact_enough():
    places, weights = np.linspace(0.0, 4.0, 60)[:, None], np.ones(60)

    def by_products(factor, rounding):
        found = Process(np.ones(1), factor * places, weights, rounding=rounding)
        return found._packed.by_products, found._packed.centres.dtype

    assert by_products(1, None) == (False, np.float32)
    assert by_products(1, 2e-4) == (True, np.float32)
    assert by_products(100, 2e-4) == (False, np.float32)  # the errors would add up to more
    assert by_products(100, 1e-7) == (True, np.float64)
    assert by_products(1000, 1e-7) == (False, np.float64)


def known(table, rows, lengths, share):
    """The variance at *table* that is left where *rows* are known, by its definition."""
    own = correlations(rows, rows, lengths) + share * np.eye(len(rows))
    between = correlations(table, rows, lengths)
    return 1 - (between * np.linalg.solve(own, between.T).T).sum(axis=1)


@given(st.integers(0, 1000), st.integers(1, 40), st.integers(1, 5), st.sampled_from([1e-3, 0.1, 2]))
def test_the_variance_is_what_the_centres_leave(seed, centres, columns, share):
    found, table = drawn(seed, centres, columns, 1)
    variance = Variance(found.lengths, found.centres, share)
    expected = known(table, found.centres * found.lengths, found.lengths, share)
    assert variance(table) == pytest.approx(expected, abs=1e-8)
    assert variance.left_out(table).tolist() == variance(table).tolist()  # none is a centre


def test_a_centre_is_left_out_of_what_is_known_about_it(rows):
    lengths = np.array([0.4, 0.9])
    centres = np.float64(np.float32(rows / lengths))
    found = Variance(lengths, centres, 0.05).left_out(rows)
    for place, row in enumerate(centres):
        others = np.delete(centres, place, axis=0)
        assert found[place] == pytest.approx(known(row[None], others, 1.0, 0.05)[0], abs=1e-6)


def test_of_many_centres_some_tell_the_variance():
    process = drawn(0, 1500, 2, 1)[0]
    assert Variance.of(process) is None  # as in files of earlier versions
    found = Variance.of(Process(process.lengths, process.centres, process.weights, 0.1))
    assert len(found.centres) == 512
    assert len({row.tobytes() for row in found.centres}) == 512
