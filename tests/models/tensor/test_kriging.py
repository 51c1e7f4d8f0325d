"""Gaussian processes, and tensors that copy them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasksim.models.probablescales import improbability
from tasksim.models.samples import Samples
from tasksim.models.tensor.grid import make_axis
from tasksim.models.tensor.hybrid import HybridModel
from tasksim.models.tensor.kriging import AxisScales, _correlations, _features, krige, learn_scales


def axes_of(table, **spacing):
    names = "xyz"[: table.shape[1]]
    return tuple(
        make_axis(name, table[:, mode], spacing.get(name, "uniform"), 4)
        for mode, name in enumerate(names)
    )


def drawn(count, modes, seed=0):
    table = np.random.default_rng(seed).uniform(0, 1, (count, modes))
    table[:2] = [[0.0] * modes, [1.0] * modes]
    return table


def test_without_noise_what_was_seen_is_said_again():
    table = drawn(30, 2)
    values = np.sin(5 * table[:, 0]) + table[:, 1]
    process = krige(axes_of(table), table, values, AxisScales(np.array([0.5, 0.5]), 1.0, 1e-10))
    assert process.values(table) == pytest.approx(values, abs=1e-6)


def test_two_points_by_hand():
    """The covariance at a distance of one length is (1 + r) exp(-r) with r = sqrt(3)."""
    table = np.array([[0.0], [1.0]])
    process = krige(
        axes_of(table), table, np.array([1.0, 0.0]), AxisScales(np.array([1.0]), 2.0, 0.5)
    )
    near, far = 2.0, 2.0 * (1 + np.sqrt(3)) * np.exp(-np.sqrt(3))
    expected = np.array([[near, far], [far, near]]) @ np.linalg.solve(
        np.array([[near + 0.5, far], [far, near + 0.5]]), [1.0, 0.0]
    )
    assert process.values(table) == pytest.approx(expected, rel=1e-12)


def test_far_from_everything_it_is_the_mean():
    table = drawn(20, 1)
    process = krige(axes_of(table), table, np.ones(20), AxisScales(np.array([0.01]), 1.0, 1e-3))
    assert process.values(np.array([[50.0]]))[0] == pytest.approx(0, abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.integers(1, 3))
def test_the_gradient_is_that_of_differences(seed, modes):
    rng = np.random.default_rng(seed)
    table = drawn(25, modes, seed)
    values = rng.standard_normal(25)
    rows = _features(axes_of(table), table)
    first = np.log([*[0.5] * modes, 1.0, 0.1])
    at = first + rng.uniform(-1, 1, len(first))

    def value_and_gradient(logs):
        return improbability(logs, _correlations, rows, values, np.arange(modes), first)

    _, gradient = value_and_gradient(at)
    steps = 1e-5 * np.eye(len(at))
    numeric = [
        (value_and_gradient(at + step)[0] - value_and_gradient(at - step)[0]) / 2e-5
        for step in steps
    ]
    assert gradient == pytest.approx(numeric, rel=1e-4, abs=1e-4)


def test_scales_are_learnt():
    """A function that changes with x and not with y has a short scale in x, a long one in y."""
    table = drawn(300, 2)
    rng = np.random.default_rng(1)
    values = np.sin(12 * table[:, 0]) + 0.05 * rng.standard_normal(300)
    scales = learn_scales(axes_of(table), table, values)
    assert scales.lengths[0] < 0.5
    assert scales.lengths[1] > 2
    assert np.sqrt(scales.noise) == pytest.approx(0.05, rel=0.3)


def test_categories_know_of_each_other():
    """The same curve for two categories but for a level: few samples of the second will do."""
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.uniform(0, 1, 60), (np.arange(60) >= 55).astype(float)])
    curve = lambda t: np.sin(6 * t[:, 0]) + 0.3 * t[:, 1]  # noqa: E731
    axes = axes_of(table, y="categorical")
    process = krige(axes, table, curve(table), learn_scales(axes, table, curve(table)))
    asked = np.column_stack([np.linspace(0.1, 0.9, 20), np.ones(20)])
    assert np.abs(process.values(asked) - curve(asked)).max() < 0.3


def steps_s(t):
    """Durations with a bend and a step that no simple law has."""
    m, n = t.T
    bend = 1 + 0.5 / (1 + (m / 200) ** 2)
    return 1e-9 * m * n * bend * np.where(n > 300, 1.3, 1.0)


def sizes(count, seed):
    rng = np.random.default_rng(seed)
    return np.floor(np.exp(rng.uniform(np.log(32), np.log(2048), (count, 2))))


def error(model, seed=99):
    table = sizes(500, seed)
    return float(np.abs(np.log(model.predict(table) / steps_s(table))).mean())


def measured(count, seed=0, noise=0.02):
    table = sizes(count, seed)
    rng = np.random.default_rng(seed)
    return Samples(("m", "n"), table, steps_s(table) * rng.lognormal(0, noise, count))


@pytest.mark.slow
@pytest.mark.parametrize(("count", "bound"), [(64, 0.055), (256, 0.03), (1024, 0.016)])
def test_few_samples_teach_more_with_kriging(count, bound):
    samples = measured(count)
    model = HybridModel().fit(samples)
    assert error(model) < bound
    assert error(model) < error(HybridModel(kriging=False).fit(samples))


@pytest.mark.slow
def test_the_copy_is_as_large_as_it_must_be_and_no_larger():
    small, large = (HybridModel().fit(measured(count)) for count in (64, 1024))
    numbers = [model.report()["coefficients"] for model in (small, large)]
    assert numbers[0] < numbers[1]
    assert numbers[0] <= 8 * 64 + 10
    report = large.report()
    with_noise = np.hypot(error(large), 0.02 * np.sqrt(2 / np.pi))
    assert report["cross_validated_mlogq"] == pytest.approx(with_noise, rel=0.1)


def test_where_a_law_says_all_there_is_no_tensor():
    table = sizes(200, 0)
    rng = np.random.default_rng(0)
    work = 1e-9 * table[:, 0] * table[:, 1] * rng.lognormal(0, 0.05, len(table))
    assert HybridModel().fit(Samples(("m", "n"), table, work)).rank_ == 0


def test_rank_cells_and_ridge_that_are_given_are_kept():
    model = HybridModel(rank=2, cells=5, ridge=1e-3).fit(measured(200))
    assert (model.rank_, model.cells_, model.ridge_) == (2, {"m": 5, "n": 5}, 1e-3)


def test_the_same_samples_the_same_model():
    one, other = (HybridModel(seed=4).fit(measured(100)).to_json() for _ in range(2))
    assert one == other


def test_half_a_square():
    """Configurations with n <= m alone: the other half is neither asked for nor inside."""
    table = sizes(400, 0)
    table = table[table[:, 1] <= table[:, 0]]
    model = HybridModel().fit(Samples(("m", "n"), table, steps_s(table)))
    held = sizes(400, 1)
    held = held[held[:, 1] <= held[:, 0]]
    assert np.abs(np.log(model.predict(held) / steps_s(held))).mean() < 0.03
    assert not model.inside([[64, 1500]])[0]
