"""Completed tensors beyond the ends of their axes."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasksim.base.documents.json_document import JsonNode
from tasksim.models.registry import from_json
from tasksim.models.samples import Samples
from tasksim.models.tensor.completed import (
    CONTINUATION_METHODS,
    Completed,
    bounds_of,
    sampled_range,
)
from tasksim.models.tensor.grid import make_axis
from tasksim.models.tensor.hybrid import HybridModel
from tasksim.models.tensor.model import TensorModel
from tests.tiers import few


def drawn(modes, seed, method="line", *, positive=False):
    """Return a tensor of random axes, and of factors that are large in corners."""
    rng = np.random.default_rng(seed)
    axes, factors, supported = [], [], []
    rank = rng.integers(1, 9)
    for mode in range(modes):
        high = rng.choice([3.0, 64.0, 4096.0])
        values = np.exp(rng.uniform(0, np.log(high), rng.integers(1, 40)))
        axis = make_axis(f"p{mode}", values, rng.choice(["log", "own", "automatic"]), 12)
        factor = np.exp(rng.normal(0, 2, (len(axis), rank)))
        factor *= 1 if positive else rng.choice([-1, 1], factor.shape)
        known = rng.random(len(axis)) < 0.8
        known[rng.integers(len(axis))] = True
        axes.append(axis)
        factors.append(factor)
        supported.append(known)
    bounds = bounds_of(rng.normal(0, 2, 50))
    return Completed(tuple(axes), factors, supported, positive, bounds, method, last=6), rng


def asked_beyond(tensor, rng, count=100):
    """Return rows on the border of the grid or beyond it, and the nearest rows of the grid."""
    edges = np.array([axis.edges[[0, -1]] for axis in tensor.axes]).T
    inside = edges[0] * (edges[1] / edges[0]) ** rng.random((count, len(tensor.axes)))
    ends = edges[rng.integers(2, size=inside.shape), np.arange(len(tensor.axes))]
    inside = np.where(rng.random(inside.shape) < 0.5, ends, inside)
    factor = np.exp(rng.exponential(0.5, inside.shape))
    out = np.where(inside == edges[1], inside * factor, inside)
    return np.where(inside == edges[0], inside / factor, out), inside


def allowed(tensor, rows):
    """Return the largest legal distance from values at the nearest rows of the grid."""
    squares = np.zeros(len(rows))
    for mode, (axis, known) in enumerate(zip(tensor.axes, tensor.supported, strict=True)):
        points = np.log(axis.points[known])
        beyond = np.log(rows[:, mode] / np.clip(rows[:, mode], *axis.edges[[0, -1]]))
        if len(points) > 1:
            few_points = min(tensor.last, len(points)) - 1
            first, last = points[few_points] - points[0], points[-1] - points[-1 - few_points]
            squares += (beyond / np.where(beyond < 0, first, last)) ** 2
    low, high = tensor.bounds
    return (high - low) / 1.5 * np.sqrt(squares)


@given(
    modes=st.integers(4, 9),
    seed=st.integers(0, 2**32 - 1),
    method=st.sampled_from(CONTINUATION_METHODS),
    positive=st.booleans(),
)
@settings(max_examples=few(200), deadline=None)
def test_beyond_the_grid_values_start_at_the_edge_and_grow_as_samples_allow(
    modes, seed, method, positive
):
    tensor, rng = drawn(modes, seed, method, positive=positive)
    rows, nearest = asked_beyond(tensor, rng)
    edge = tensor.values(nearest)
    # A little beyond the edge is a little beyond its value, also in corners without samples.
    for share in (1e-9, 1e-3, 1.0):
        reached = nearest * (rows / nearest) ** share
        change = np.abs(tensor.values(reached) - edge)
        assert (change <= (1 + 1e-6) * allowed(tensor, reached) + 1e-9 * (1 + np.abs(edge))).all()
    assert (edge >= tensor.bounds[0]).all()
    assert (edge <= tensor.bounds[1]).all()


@given(modes=st.integers(1, 9), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=few(100), deadline=None)
def test_lines_of_sampled_values_go_on_beyond_all_ends_at_once(modes, seed):
    # The logarithm of a product of powers is a sum of lines, a tensor with a component per mode.
    rng = np.random.default_rng(seed)
    table = np.exp(rng.uniform(0, 5, (20 * modes, modes)))
    exponents = rng.uniform(0.2, 3, modes)
    logs = np.log(table) @ exponents
    axes = tuple(make_axis(f"p{mode}", table[:, mode], "log", 8) for mode in range(modes))
    factors = [np.ones((len(axis), modes)) for axis in axes]
    for mode, axis in enumerate(axes):
        factors[mode][:, mode] = exponents[mode] * axis.positions
    known = [np.ones(len(axis), dtype=bool) for axis in axes]
    tensor = Completed(axes, factors, known, False, bounds_of(logs), "line", 6)
    middle = table[np.abs(logs - logs.mean()) <= logs.std()]
    rows = middle * (table.max(axis=0) / table.min(axis=0)) ** rng.uniform(-1, 1, middle.shape)
    ends = np.array([axis.edges[[0, -1]] for axis in axes]).T
    nearest = np.clip(rows, *ends)
    change = tensor.values(rows) - tensor.values(nearest)
    assert change == pytest.approx(np.log(rows / nearest) @ exponents, abs=1e-9)


PARAMETERS = ("level", "cells", "size", "inner", "inner_size", "pairs", "least", "most", "order")


def interactions(count, seed):
    """Return samples of interactions between lists of cells, as of a fast multipole method.

    The nine parameters depend on each other: no corner of the grid has samples.
    """
    rng = np.random.default_rng(seed)
    level, order = rng.integers(2, 5, count), rng.integers(2, 9, count)
    cells, inner = np.exp(rng.uniform(0, np.log(227), (2, count)))
    size, inner_size = np.array([cells, inner]) * np.exp(rng.uniform(0, 2.3, (2, count)))
    pairs = np.minimum(cells, inner) * np.exp(rng.uniform(0, 3.3, count))
    least, most = np.minimum(cells, inner) * rng.uniform(0.3, 1, (2, count))
    columns = (level, cells, size, inner, inner_size, pairs, least, most, order)
    table = np.maximum(1, np.floor(np.column_stack(columns)))
    _, cells, _, _, _, pairs, _, most, order = table.T
    seconds = 1e-9 * (pairs * order**4 * (1 + np.exp(-pairs / 300)) + 200 * cells + 2000 * most)
    return Samples(PARAMETERS, table, seconds * np.exp(rng.normal(0, 0.05, count)))


@pytest.mark.parametrize("seed", range(3))
def test_nine_parameters_a_twentieth_beyond_their_samples_are_no_catastrophe(seed):
    # Without a limit, the three models predict from 1e16 s to the largest number that there is.
    samples = interactions(400, seed)
    model = HybridModel(law="power", rank=3, cells=16, ridge=1e-4).fit(samples)
    rng = np.random.default_rng(1)
    near = samples.parameters[rng.integers(len(samples), size=400)]
    ends = samples.parameters.max(axis=0)
    few_beyond = np.where(rng.random(near.shape) < 0.4, 1.05 * ends, near)
    edge, beyond = model.predict(np.minimum(few_beyond, ends)), model.predict(few_beyond)
    law = HybridModel(law="power", rank=0).fit(samples)
    growth = law.predict(few_beyond) / law.predict(np.minimum(few_beyond, ends))
    assert np.abs(np.log(beyond / edge / growth)).max() < 0.5
    assert beyond.max() < 100 * samples.durations_s.max()


@pytest.mark.parametrize(
    "make",
    [
        lambda: TensorModel(rank=6, cells=8, ridge=1e-5),
        lambda: TensorModel("positive", rank=2, cells=2, ridge=1e-5),
        lambda: HybridModel(rank=6, cells=8, ridge=1e-5),
    ],
    ids=["cp", "positive", "hybrid"],
)
@given(modes=st.integers(4, 9), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=few(25), deadline=None)
def test_sparse_samples_of_many_parameters_bound_predictions_beyond_them(make, modes, seed):
    rng = np.random.default_rng(seed)
    low, high = np.ones(modes), rng.choice([8.0, 64.0, 1024.0], modes)
    table = np.floor(np.exp(rng.uniform(np.log(low), np.log(high), (rng.integers(40, 200), modes))))
    durations = 1e-6 * np.exp(np.log(table) @ rng.choice([0, 0.5, 1], modes))
    names = tuple(f"p{mode}" for mode in range(modes))
    samples = Samples(names, table, durations * np.exp(rng.normal(0, 0.3, len(table))))
    model = make().fit(samples)
    fitted = model._fitted_
    rows, nearest = asked_beyond(fitted.tensor, rng)
    predicted = model.predict(rows)
    assert (np.isfinite(predicted) & (predicted > 0)).all()
    # Beyond, a law has its own growth, and what corrects it, or the whole duration, a limit.
    growth = fitted.base.values(fitted.axes, rows) - fitted.base.values(fitted.axes, nearest)
    change = np.log(predicted / model.predict(nearest)) - growth
    assert (np.abs(change) <= allowed(fitted.tensor, rows) + 1e-6).all()
    again = from_json(JsonNode(json.loads(json.dumps(model.to_json()))))
    assert again.predict(rows).tolist() == predicted.tolist()


@given(modes=st.integers(1, 5), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=few(25), deadline=None)
def test_beyond_the_grid_a_corrected_sum_of_products_does_not_fall(modes, seed):
    rng = np.random.default_rng(seed)
    table = np.exp(rng.uniform(0, 5, (60, modes)))
    seconds = 1e-6 * (5 + table.prod(axis=1) + table[:, 0] ** 2) * np.exp(rng.normal(0, 0.2, 60))
    names = tuple(f"p{mode}" for mode in range(modes))
    model = HybridModel(rank=2, cells=4, ridge=1e-4, law="products")
    model.fit(Samples(names, table, seconds))
    steps = np.linspace(0, 3, 50)[:, None] * rng.random(modes)
    predicted = model.predict(table.max(axis=0) * np.exp(steps))
    assert (np.diff(predicted) >= -1e-12 * predicted[:-1]).all()


def test_the_range_of_samples_is_that_of_their_bounds():
    assert sampled_range(bounds_of(np.array([1.0, 2.0, 5.0]))) == pytest.approx(4.0)
