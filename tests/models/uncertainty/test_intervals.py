"""Predictive intervals: calibrated, drawn from, kept in files."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tasksim.base.errors import InputError, ModelError
from tasksim.models.conformance import example_samples
from tasksim.models.kinds.bysize import SizeHistory
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.kinds.linear import LinearModel
from tasksim.models.kinds.power import PowerLaw
from tasksim.models.registry import from_json, model_class
from tasksim.models.samples import Samples
from tasksim.models.uncertainty.conformal import calibrate
from tasksim.models.uncertainty.doubt import Anchors, Counts, Covariance, doubt_kind
from tasksim.models.uncertainty.intervals import LEVELS, NoiseByDuration, Thinness

KINDS = {
    "history": (HistoryModel, 3),
    "mlr": (lambda: LinearModel("m*n*k + m*n"), 3),
    "power": (PowerLaw, 1),
    "bysize": (SizeHistory, 1),
    "cp": (lambda: model_class("cp")(rank=2, cells=4), 3),
    "hybrid": (lambda: model_class("hybrid")(rank=2, cells=4), 3),
}


def expected_s(table):
    if table.shape[1] == 1:
        return 1e-9 * table[:, 0] ** 1.7
    return 2e-6 + 4e-11 * table.prod(axis=1) + 1e-9 * table[:, 0] * table[:, 1]


def factor(rng, mean_s, noise):
    if noise == "heteroscedastic":
        deviation = 0.02 + 0.3 * (mean_s / 2e-6) ** -0.3
        return np.exp(deviation * rng.standard_normal(len(mean_s)))
    # Student's t with 2.5 degrees of freedom: one in a hundred is 6 deviations away.
    return np.exp(0.05 * np.clip(rng.standard_t(2.5, len(mean_s)), -30, 30))


def measured(rng, table, noise):
    mean_s = expected_s(table)
    names = ("m", "n", "k")[: table.shape[1]]
    return Samples(names, table, mean_s * factor(rng, mean_s, noise))


def sizes(rng, count, parameters):
    return np.exp(rng.uniform(np.log(32), np.log(1024), (count, parameters))).round()


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["heteroscedastic", "heavy-tailed"])
@pytest.mark.parametrize("kind", KINDS)
def test_nine_of_ten_new_measurements_are_in_their_interval(kind, noise):
    make, parameters = KINDS[kind]
    covered, drawn = [], []
    for seed in range(1 if kind in ("cp", "hybrid") else 4):
        rng = np.random.default_rng(seed)
        table = sizes(rng, 150, parameters)
        samples = measured(rng, np.repeat(table, 4, axis=0), noise)
        model = make().fit(samples)
        calibrate(model, samples, resamples=5)
        new = np.repeat(table, 5, axis=0) if kind == "history" else sizes(rng, 800, parameters)
        test = measured(rng, new, noise)
        low, high = model.interval(test.parameters, 0.9)
        covered.append(((low <= test.durations_s) & (test.durations_s <= high)).mean())
        draws = model.sample(test.parameters, rng)
        drawn.append(((low <= draws) & (draws <= high)).mean())
    assert 0.85 <= np.mean(covered) <= 0.95
    assert 0.85 <= np.mean(drawn) <= 0.95


def test_intervals_are_narrow_where_there_is_little_noise():
    rng = np.random.default_rng(0)
    samples = measured(rng, np.repeat(sizes(rng, 150, 1), 4, axis=0), "heteroscedastic")
    law = PowerLaw().fit(samples)
    calibrate(law, samples)
    low, high = law.interval([[40], [1000]])
    short, long = np.log(high / low)
    assert short > 2 * long


def test_the_wider_the_level_the_wider_the_interval():
    samples = example_samples()
    model = LinearModel("m*n*k").fit(samples)
    calibrate(model, samples)
    rows = samples.configurations()[0]
    before = model.predict(rows), model.predict(rows)
    for level in (0.1, 0.5, 0.8, 0.95, 0.99):
        low, high = model.interval(rows, level)
        assert ((low <= before[0]) & (high >= before[1])).all()
        before = low, high
    for level in (0.0, 1.0, -1.0, float("nan")):
        with pytest.raises(InputError, match="legal: between 0 and 1"):
            model.interval(rows, level)


def test_extrapolation_widens_the_interval():
    samples = example_samples()
    model = LinearModel("m*n*k + m*n + n*k").fit(samples)
    calibrate(model, samples)
    low, high = model.interval([[128, 128, 128], [5000, 5000, 1]])
    near, far = np.log(high / low)
    assert far > 1.5 * near


@pytest.mark.parametrize("make", [HistoryModel, lambda: LinearModel("m*n*k")])
def test_draws_have_the_mean_that_is_predicted(make):
    samples = example_samples()
    model = make().fit(samples)
    calibrate(model, samples)
    row = np.array([[64.0, 96.0, 128.0]])
    draws = model.sample(np.tile(row, (50_000, 1)), np.random.default_rng(1))
    assert draws.mean() == pytest.approx(model.predict(row)[0], abs=5 * draws.std() / 50_000**0.5)
    again = model.sample(np.tile(row, (50_000, 1)), np.random.default_rng(1))
    assert (draws == again).all()


@pytest.mark.parametrize(
    "make", [HistoryModel, lambda: LinearModel("m*n*k + m*n"), lambda: LinearModel("m*n*k - 1")]
)
def test_files_keep_intervals_and_draws(make):
    samples = example_samples()
    model = make().fit(samples)
    plain = model.to_json()
    calibrate(model, samples)
    again = from_json(json.loads(json.dumps(model.to_json())))
    rows = samples.configurations()[0]
    for one, other in zip(model.interval(rows), again.interval(rows), strict=True):
        assert (one == other).all()
    draws = [m.sample(rows, np.random.default_rng(0)) for m in (model, again)]
    assert (draws[0] == draws[1]).all()
    assert "uncertainty" not in plain
    assert again.to_json() == model.to_json()


def test_the_same_seed_gives_the_same_bytes():
    samples = example_samples(4)
    texts = []
    for _ in range(2):
        model = SizeHistory().fit(squares(samples))
        calibrate(model, squares(samples), seed=3)
        texts.append(json.dumps(model.to_json()))
    assert texts[0] == texts[1]


def squares(samples):
    return Samples(("size_bytes",), samples.parameters.prod(axis=1)[:, None], samples.durations_s)


def test_a_fit_forgets_the_uncertainty():
    samples = example_samples()
    model = LinearModel("m*n*k").fit(samples)
    calibrate(model, samples)
    model.fit(samples)
    with pytest.raises(ModelError, match="no calibrated uncertainty"):
        model.interval([[64, 64, 64]])


def test_too_few_samples_have_no_intervals():
    samples = Samples(("n",), [[1], [1], [2], [3]], [1.0, 1.1, 2.0, 3.0])
    model = HistoryModel().fit(samples)
    with pytest.raises(InputError, match="intervals need at least 5 samples"):
        calibrate(model, samples)


def test_malformed_uncertainties_are_refused():
    samples = example_samples()
    model = LinearModel("m*n*k").fit(samples)
    calibrate(model, samples)
    data = model.to_json()
    for change, message in (
        ({"quantiles": data["uncertainty"]["quantiles"][::-1]}, "ascending"),
        ({"levels": [0.5]}, "uncertainty.levels"),
        ({"doubt": {"kind": "none"}}, "the kind of doubt of mlr models"),
        ({"doubt": {"kind": "covariance", "matrix": [[1.0]]}}, "expected a list of 2, got"),
        ({"noise": {}}, "'deviation' is missing"),
    ):
        wrong = {**data, "uncertainty": {**data["uncertainty"], **change}}
        with pytest.raises(InputError, match=message):
            from_json(wrong)


def test_noise_finds_the_power_with_which_it_shrinks():
    rng = np.random.default_rng(0)
    mean_s = np.exp(rng.uniform(-10, 0, 4000))
    noise = NoiseByDuration.of(0.1 * mean_s**-0.2 * rng.standard_normal(4000), mean_s)
    assert noise.slope == pytest.approx(-0.2, abs=0.03)
    assert noise(np.array([1e-2]))[0] == pytest.approx(0.1 * 1e-2**-0.2, rel=0.1)
    # Beyond the samples it stays what it was at their end.
    assert noise(np.array([1e6]))[0] == noise(mean_s.max()[None])[0]
    flat = NoiseByDuration.of(rng.standard_t(3, 200), mean_s[:200])
    assert flat.slope == 0.0


def test_elasticities_are_derivatives_by_the_logarithms_of_coefficients():
    samples = example_samples()
    model = LinearModel("m*n*k + m*n").fit(samples)
    rows = samples.configurations()[0][:5]
    found = model._elasticities(rows)
    assert found.sum(axis=1) == pytest.approx(np.ones(5))
    before = model.predict(rows)
    model.coef_[1] *= 1 + 1e-6
    assert np.log(model.predict(rows) / before) / 1e-6 == pytest.approx(found[:, 1], rel=1e-4)


def test_the_covariance_of_a_linear_model_is_that_of_many_fits():
    rng = np.random.default_rng(0)
    table = np.repeat(sizes(rng, 100, 3), 3, axis=0)
    at = np.array([[900.0, 900.0, 900.0], [40.0, 40.0, 40.0]])
    logs, said = [], []
    for _ in range(40):
        clean = expected_s(table)
        samples = Samples(("m", "n", "k"), table, clean * rng.lognormal(0, 0.1, len(table)))
        model = LinearModel("m*n*k + m*n").fit(samples)
        logs.append(np.log(model.predict(at)))
        said.append(doubt_of(model, samples).variance(model, at, np.zeros(2)) ** 0.5)
    assert np.mean(said, axis=0) == pytest.approx(np.std(logs, axis=0), rel=0.35)


def doubt_of(model, samples):
    return doubt_kind(model).of(model, samples, seed=0, resamples=10)


def test_kinds_of_doubt():
    samples = example_samples(4)
    assert isinstance(doubt_of(HistoryModel().fit(samples), samples), Counts)
    assert isinstance(doubt_of(LinearModel("m*n*k").fit(samples), samples), Covariance)
    assert isinstance(doubt_of(SizeHistory().fit(squares(samples)), squares(samples)), Anchors)


def test_levels_are_symmetric():
    assert [1 - level for level in reversed(LEVELS)] == pytest.approx(LEVELS)


def test_the_growth_of_errors_is_found_where_it_is():
    rng = np.random.default_rng(0)
    unknown = rng.exponential(1.0, 2000)
    residual = rng.standard_t(5, 2000)
    found = Thinness.of(residual * np.sqrt(1 + 5 * unknown), unknown)
    assert found.growth == 5
    assert found(np.array([0.0, found.mean])) == pytest.approx([1 / 6, 1])
    assert Thinness.of(residual, unknown) is None
    assert Thinness.of(residual, np.zeros(2000)) is None
