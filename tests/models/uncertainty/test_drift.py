"""Intervals outside the domain: wider with the distance, and wide enough."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tasksim.base.errors import InputError
from tasksim.models.kinds.bysize import SizeHistory
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.kinds.linear import LinearModel
from tasksim.models.kinds.power import PowerLaw
from tasksim.models.registry import from_json, model_class
from tasksim.models.samples import Samples
from tasksim.models.uncertainty.conformal import calibrate
from tasksim.models.uncertainty.intervals import DEFAULT_DRIFT, UNSEEN_DRIFT, Drift, distance_below

LOW, HIGH = 32.0, 512.0


def product(table):
    return 2e-6 + 4e-11 * table.prod(axis=1) + 1e-9 * table[:, 0] * table[:, 1]


def overflowing(table):
    """A third more for working sets that no sample had: a cache is full."""
    volume = np.log(table.prod(axis=1) / 400.0**3)
    return product(table) * (1 + 0.3 / (1 + np.exp(-3 * volume)))


def power(table):
    return 1e-9 * table[:, 0] ** 1.7


def bending(table):
    return power(table) * (1 + 200 / table[:, 0])


CASES = {
    "linear": (lambda: LinearModel("m*n*k + m*n"), product, 3),
    "linear, cache": (lambda: LinearModel("m*n*k + m*n"), overflowing, 3),
    "power": (PowerLaw, power, 1),
    "power, bent": (lambda: PowerLaw(constant=True), bending, 1),
    "by size, bent": (SizeHistory, bending, 1),
    "cp, bent": (lambda: model_class("cp")(rank=2, cells=6), bending, 1),
    "hybrid": (lambda: model_class("hybrid")(rank=1, cells=4), product, 3),
}


def between(rng, low, high, parameters, count=400):
    return np.exp(rng.uniform(np.log(low), np.log(high), (count, parameters)))


def measured(rng, table, expected_s):
    names = ("m", "n", "k")[: table.shape[1]]
    return Samples(names, table, expected_s(table) * rng.lognormal(0.0, 0.05, len(table)))


def fitted(case, seed=0):
    make, expected_s, parameters = CASES[case]
    rng = np.random.default_rng(seed)
    table = np.repeat(between(rng, LOW, HIGH, parameters, 150).round(), 2, axis=0)
    samples = measured(rng, table, expected_s)
    model = make().fit(samples)
    calibrate(model, samples, resamples=5)
    return model, rng, expected_s, parameters


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_measurements_outside_are_in_their_intervals(case):
    covered = {}
    for seed in range(2):
        model, rng, expected_s, parameters = fitted(case, seed)
        for name, low, high in (
            ("twice above", HIGH, 2 * HIGH),
            ("four times above", 2 * HIGH, 4 * HIGH),
            ("half below", LOW / 2, LOW),
            ("inside", LOW, HIGH),
        ):
            test = measured(rng, between(rng, low, high, parameters), expected_s)
            low_s, high_s = model.interval(test.parameters, 0.9)
            inside = (low_s <= test.durations_s) & (test.durations_s <= high_s)
            covered.setdefault(name, []).append(inside.mean())
    means = {name: np.mean(shares) for name, shares in covered.items()}
    assert 0.82 < means.pop("inside") < 0.97
    assert all(share > 0.75 for share in means.values()), means


@pytest.mark.parametrize("case", ["linear", "power", "cp, bent", "hybrid"])
def test_intervals_widen_with_the_distance(case):
    model, _, _, parameters = fitted(case)
    rows = [[size] * parameters for size in (HIGH, 1.5 * HIGH, 3 * HIGH, 10 * HIGH)]
    low_s, high_s = model.interval(rows)
    widths = np.log(high_s / low_s)
    assert (np.diff(widths) > 0).all()
    below = [[size] * parameters for size in (LOW, LOW / 2, LOW / 8)]
    low_s, high_s = model.interval(below)
    assert (np.diff(np.log(high_s / low_s)) > 0).all()


def test_far_away_bounds_are_finite():
    model, _, _, _ = fitted("power")
    low_s, high_s = model.interval([[1e150]])
    assert np.isfinite([low_s, high_s]).all()


def test_draws_do_not_drift():
    model, rng, _, _ = fitted("power")
    many = np.full((20_000, 1), 4 * HIGH)
    ratio = model.sample(many, rng) / model.predict(many)
    assert np.log(ratio).std() == pytest.approx(0.05, rel=0.2)


def test_a_history_has_no_drift_and_too_few_samples_have_the_assumed_one():
    rng = np.random.default_rng(0)
    table = np.repeat([[64.0], [128.0], [256.0], [512.0]], 10, axis=0)
    samples = measured(rng, table, power)
    assert calibrate(HistoryModel().fit(samples), samples).drift is None
    # Two sizes, half of them, are too few for three terms.
    model = LinearModel("m + m^2").fit(samples)
    assert calibrate(model, samples).drift == Drift(DEFAULT_DRIFT, DEFAULT_DRIFT)


def test_files_keep_the_drift_and_old_ones_do_without():
    model, _, _, _ = fitted("power")
    data = json.loads(json.dumps(model.to_json()))
    assert from_json(data).interval([[2000.0]]) == model.interval([[2000.0]])
    assert data["uncertainty"]["drift"]["above"] >= UNSEEN_DRIFT
    del data["uncertainty"]["drift"]
    low_s, high_s = from_json(data).interval([[10 * HIGH]])
    assert np.log(high_s / low_s) < 0.25
    data["uncertainty"]["drift"] = {"below": -1, "above": 0}
    with pytest.raises(InputError, match=r"drift.below: expected a number, not negative"):
        from_json(data)


def test_zero_is_far_but_not_infinitely():
    domain = {"m": (1.0, 2.0), "n": (0.0, 5.0)}
    far = distance_below(domain, np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 1.0]]))
    assert far == pytest.approx([np.log(1000), 0.0, np.log(2)])
