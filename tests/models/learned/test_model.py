"""The learned model on generated kernels, whose durations are known."""

from __future__ import annotations

import base64
import copy
import json
from dataclasses import replace

import numpy as np
import pytest
from tiers import LONG

from tasksim.base.errors import InputError, OutOfDomainError
from tasksim.models.learned import correction, process
from tasksim.models.learned.model import LearnedModel
from tasksim.models.registry import from_json
from tasksim.models.samples import Samples


def kernel_s(table):
    """Work with waves in m, padded to blocks of 64 in n, with a second protocol above 300 in m."""
    m, n = table.T
    waves = 1 + 0.3 * np.sin(2 * np.log(m) * np.log(n) / 3)
    return 1e-9 * m * 64 * np.ceil(n / 64) * np.where(m > 300, 1.6, 1.0) * waves + 2e-6


def drawn(count, seed, noise=0.02):
    rng = np.random.default_rng(seed)
    table = np.round(np.exp(rng.uniform(np.log(16), np.log(1024), (count, 2))))
    return Samples(("m", "n"), table, kernel_s(table) * rng.lognormal(0, noise, count))


def error(model, seed=99):
    test = drawn(500, seed)
    return np.abs(np.log(model.predict(test.parameters) / kernel_s(test.parameters))).mean()


@pytest.fixture(scope="module")
def model():
    return LearnedModel().fit(drawn(600, 0))


@pytest.mark.slow
def test_steps_and_switches_are_learnt(model):
    law = LearnedModel(law="products").fit(drawn(31, 0))
    assert law.report()["centres"] == law.report()["trees"] == 0
    assert error(model) < 0.06
    assert error(law) > 0.15


def test_the_report_says_what_it_is_made_of(model):
    report = model.report()
    assert report["law"] == model.law_
    assert sum(report["weights"].values()) == pytest.approx(1.0)
    assert 0 < report["trees"] <= 800
    assert 0.01 < report["cross_validated_mlogq"] < 0.08


def test_beyond_the_samples_the_law_continues(model):
    """A law that is right in all but a factor of a category continues."""
    low, high = model.domain_["m"]
    rng = np.random.default_rng(0)
    table = np.exp(rng.uniform(2, 6, (100, 2)))
    exact = LearnedModel().fit(Samples(("m", "n"), table, 1e-9 * table.prod(axis=1)))
    assert exact.predict([[4000.0, 50.0]])[0] == pytest.approx(2e-4, rel=0.01)
    assert model.inside([[low, 512.0], [2 * high, 512.0]]).tolist() == [True, False]


def test_what_bends_at_the_edge_continues():
    """Of n^2 below and n^3 above 300, a law has one exponent; the correction has the rest."""
    n = np.exp(np.random.default_rng(0).uniform(np.log(10), np.log(1000), 300))
    model = LearnedModel(law="power").fit(
        Samples(("n",), n[:, None], 1e-9 * n**2 * np.maximum(n / 300, 1))
    )
    edge, beyond = model.predict([[1000.0], [2000.0]])
    law = LearnedModel(law="power").fit(samples_below(n, 31))
    assert np.log2(beyond / edge) == pytest.approx(3.0, abs=0.4)
    assert np.log2(np.divide(*law.predict([[2000.0], [1000.0]]))) < 2.6


def samples_below(n, count):
    n = n[:count]
    return Samples(("n",), n[:, None], 1e-9 * n**2 * np.maximum(n / 300, 1))


def test_categories_are_learnt():
    rng = np.random.default_rng(0)
    n, layout = rng.uniform(10, 1000, 300), rng.choice(["row", "col", "tiled"], 300)
    factor = np.array([{"row": 1.0, "col": 3.0, "tiled": 0.5}[one] for one in layout])
    durations_s = 1e-6 * n * factor * rng.lognormal(0, 0.01, 300)
    samples = Samples.from_columns({"n": n, "layout": layout, "duration_s": durations_s})
    model = LearnedModel().fit(samples)
    found = model.predict([[100.0, "row"], [100.0, "col"], [100.0, "tiled"]])
    assert found == pytest.approx([1e-4, 3e-4, 5e-5], rel=0.03)
    with pytest.raises(OutOfDomainError, match="banded"):
        model.predict([[100.0, "banded"]])


@pytest.mark.slow
def test_more_samples_make_it_better(monkeypatch):
    # The largest count is above both limits: with fewer folds, and with half of the centres.
    counts = (64, 256, 1024, 4500)
    if not LONG:
        counts = (64, 256, 600)
        for module, limit in (
            (correction, "MAX_ALL_FOLDS"), (process, "MANY_ROWS"), (process, "MAX_CENTRES"),
        ):  # fmt: skip
            monkeypatch.setattr(module, limit, 512)
    errors = [error(LearnedModel().fit(drawn(count, 1))) for count in counts]
    assert errors == sorted(errors, reverse=True)


def test_many_rows_are_predicted_as_few_are(model):
    table = np.tile(drawn(500, 5).parameters, (80, 1))
    assert model.predict(table)[-500:] == pytest.approx(model.predict(table[:500]), rel=1e-12)


@pytest.mark.slow
def test_intervals_hold_what_they_say():
    from tasksim.models.uncertainty.conformal import calibrate

    model = LearnedModel().fit(samples := drawn(400, 2, noise=0.1))
    calibrate(model, samples)
    test = drawn(1000, 3, noise=0.1)
    low, high = model.interval(test.parameters, 0.9)
    assert 0.86 < ((low <= test.durations_s) & (test.durations_s <= high)).mean() < 0.95


def thinly_drawn(count, seed):
    """A tenth of the samples in the upper half of m."""
    many = drawn(10 * count, seed)
    lower = many.parameters[:, 0] < 128
    return many.select(np.flatnonzero(lower | (np.arange(len(many)) % 10 == 0))[:count])


@pytest.fixture(scope="module")
def thin():
    from tasksim.models.uncertainty.conformal import calibrate

    model = LearnedModel().fit(samples := thinly_drawn(300, 2))
    calibrate(model, samples)
    return model


def shares_inside(model, level=0.9):
    """The shares of measurements in intervals where samples are dense, and where they are thin."""
    test = drawn(3000, 3)
    low, high = model.interval(test.parameters, level)
    inside = (low <= test.durations_s) & (test.durations_s <= high)
    upper = test.parameters[:, 0] >= 128
    return inside[~upper].mean(), inside[upper].mean()


def test_intervals_are_wider_where_samples_are_thin(thin):
    alike = copy.copy(thin)
    alike.uncertainty_ = replace(thin.uncertainty_, thinness=None)
    dense, sparse = shares_inside(thin)
    assert 0.86 < dense < 0.96
    assert sparse > shares_inside(alike)[1] + 0.05
    low, high = thin.interval([[64.0, 128.0], [600.0, 128.0]])
    assert np.divide(*np.log(high / low)) < 0.8


def test_intervals_of_a_file_are_those_of_the_model(thin):
    table = drawn(200, 7).parameters
    data = json.loads(json.dumps(thin.to_json()))
    assert np.array_equal(from_json(data).interval(table), thin.interval(table))
    data["uncertainty"]["thinness"]["growth"] = -1.0
    with pytest.raises(InputError, match="growth"):
        from_json(data)


def test_files_of_earlier_versions_do_not_know_where_samples_are_thin(thin):
    data = json.loads(json.dumps(thin.to_json()))
    del data["correction"]["process"]["noise_share"]
    with pytest.raises(InputError, match="the learned model does not say where its samples are"):
        from_json(copy.deepcopy(data))
    del data["uncertainty"]["thinness"]
    low, high = from_json(data).interval([[64.0, 128.0], [600.0, 128.0]])
    assert (low < high).all()


def test_files_of_earlier_versions_subtract_coordinates(model):
    data = json.loads(json.dumps(model.to_json()))
    assert model._correction_.process._packed.by_products
    del data["correction"]["process"]["rounding"]
    earlier, table = from_json(data), drawn(200, 7).parameters
    assert not earlier._correction_.process._packed.by_products
    assert earlier.predict(table) == pytest.approx(model.predict(table), rel=1e-3)


def test_draws_scatter_more_where_samples_are_thin(thin):
    rows = np.repeat([[64.0, 128.0], [600.0, 128.0]], 2000, axis=0)
    draws = np.log(thin.sample(rows, np.random.default_rng(0))).reshape(2, 2000)
    assert np.divide(*draws.std(axis=1)) < 0.8


def test_the_model_as_a_file_is_small(model):
    text = json.dumps(model.to_json())
    assert len(text) < 500_000
    again = from_json(json.loads(text))
    assert np.array_equal(again.predict([[33.0, 44.0]]), model.predict([[33.0, 44.0]]))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("correction", "forest", "values"), "AAAA", "numbers .* in base 64"),
        (("correction", "forest", "cells"), "not base 64!", "numbers .* in base 64"),
        (("correction", "forest", "cells"), b"\xff", "numbers of borders of their columns"),
        (("correction", "process", "weights"), "", "numbers .* in base 64, of shape"),
        (("correction", "process", "lengths"), [1.0, -1.0], "positive numbers"),
        (("correction", "surface", "slopes"), [1.0], "2"),
        (("correction", "forest", "borders"), [], "2 lists of ascending numbers"),
        (("law", "kind"), "magic", "magic"),
    ],
)
def test_files_that_are_wrong(model, path, value, message):
    data = copy.deepcopy(model.to_json())
    *inner, last = path
    place = data
    for key in inner:
        place = place[key]
    if isinstance(value, bytes):  # every number of the table is this one
        length = len(base64.b64decode(place[last]))
        value = base64.b64encode(value * length).decode()
    place[last] = value
    with pytest.raises(InputError, match=message):
        from_json(data)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"law": "powr"}, "powr.*did you mean 'power'"),
        ({"trees": -1}, r"trees: got -1 \(int\); legal: a whole number from 0"),
        ({"folds": 1}, r"folds: got 1 \(int\); legal: a whole number from 2"),
        ({"seed": 0.5}, r"seed: got 0.5 \(float\); legal: a whole number from 0"),
    ],
)
def test_options_that_are_none(options, message):
    with pytest.raises(InputError, match=message):
        LearnedModel(**options).fit(drawn(20, 0))
