"""Drawn models: how far they are apart is how well a model is known."""

import numpy as np
import pytest

from tasksim.base.errors import InputError, ModelError
from tasksim.models.kinds.bysize import SizeEntry, SizeHistory
from tasksim.models.kinds.given import ConstantModel
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.kinds.linear import LinearModel
from tasksim.models.kinds.power import PowerLaw
from tasksim.models.registry import from_json
from tasksim.models.samples import Samples
from tasksim.models.tensor.hybrid import HybridModel
from tasksim.models.uncertainty.conformal import calibrate
from tasksim.models.uncertainty.drawn import drawer_of
from tasksim.models.uncertainty.tasknoise import noise_of


def _samples(n, cov=0.2, seed=0, sizes=(64,)):
    rng = np.random.default_rng(seed)
    table = np.repeat(np.array(sizes, float), n)[:, None]
    spread = np.sqrt(np.log1p(cov**2))
    noise = np.exp(spread * rng.standard_normal(len(table)) - spread**2 / 2)
    return Samples(("n",), table, 1e-6 * table[:, 0] ** 1.5 * noise)


@pytest.mark.slow
@pytest.mark.parametrize("n", [3, 20])
def test_intervals_of_a_history_hold_the_mean_as_often_as_they_say(n):
    rng, inside = np.random.default_rng(1), 0
    for seed in range(150):
        model = HistoryModel().fit(_samples(n, seed=seed))
        low, high = np.quantile(model.draw([[64]], rng, 400)[:, 0], (0.025, 0.975))
        inside += low <= 1e-6 * 64**1.5 <= high
    assert 0.9 <= inside / 150 <= 0.99


def test_rows_of_one_configuration_are_drawn_together():
    model = HistoryModel().fit(_samples(8, sizes=(64, 128)))
    a, b, c = model.draw([[64], [64], [128]], np.random.default_rng(0), 50).T
    assert (a == b).all()
    assert abs(np.corrcoef(a, c)[0, 1]) < 0.5


def test_one_sample_is_refused_by_name():
    model = HistoryModel().fit(_samples(1))
    model.label = "gemm on cpu"
    with pytest.raises(ModelError, match=r"gemm on cpu: measured only once, with \(n=64\).*again"):
        model.draw([[64]], np.random.default_rng(0))


def test_one_sample_beside_configurations_with_many_takes_their_spread():
    samples = Samples.concat([_samples(30), _samples(1, sizes=(128,))])
    drawn = HistoryModel().fit(samples).draw([[64], [128]], np.random.default_rng(0), 2000)
    spread = np.log(drawn).std(axis=0)
    assert spread[1] > 3 * spread[0]


def test_no_spread_draws_the_same():
    model = HistoryModel().fit(Samples(("n",), [[64]] * 5, [1e-3] * 5))
    assert np.ptp(model.draw([[64]], np.random.default_rng(0), 20)) == 0
    factors = noise_of(model, np.array([[64.0]] * 9))(np.random.default_rng(0), np.ones(9))
    assert (factors == 1).all()


@pytest.mark.parametrize(
    "model", [LinearModel("n^1.5"), PowerLaw(), HybridModel()], ids=lambda m: m.kind
)
def test_models_of_formulas_are_drawn_whole(model):
    samples = _samples(6, sizes=range(40, 200, 8))
    model.fit(samples)
    calibrate(model, samples)
    read = from_json(model.to_json())
    table = [[60], [61], [180]]
    drawn = read.draw(table, np.random.default_rng(0), 300)
    assert (drawn == model.draw(table, np.random.default_rng(0), 300)).all()
    logs = np.log(drawn / model.predict(table))
    assert (logs.std(axis=0) > 0.005).all()
    assert (logs.std(axis=0) < 0.2).all()
    assert np.corrcoef(logs.T)[0, 1] > 0.7  # near parameters are off alike


def test_formulas_without_uncertainty_are_refused_by_name():
    model = LinearModel.from_coefficients(("n",), {"n": 1e-6})
    with pytest.raises(ModelError, match="mlr: the file has no uncertainty of the mlr model"):
        model.draw([[3]], np.random.default_rng(0))


def test_sizes_of_starpu_have_counts():
    entries = [SizeEntry(100, 1e-3, 1e-4, 50), SizeEntry(400, 8e-3, 8e-4, 2)]
    drawn = SizeHistory.from_entries(entries).draw(
        [[100], [200], [400]], np.random.default_rng(0), 4000
    )
    spread = np.log(drawn).std(axis=0)
    assert spread[0] == pytest.approx(0.1 / 50**0.5, rel=0.1)
    assert spread[2] > 3 * spread[0]


def test_what_is_given_is_known():
    assert ConstantModel(2.0).draw([[1], [2]], np.random.default_rng(0), 3).tolist() == [[2, 2]] * 3


@pytest.mark.parametrize("size", [-1, True, 1.5])
def test_size_is_a_count(size):
    with pytest.raises(InputError, match="size: got"):
        ConstantModel(2.0).draw([[1]], np.random.default_rng(0), size)


@pytest.mark.parametrize("n", [5, 20, 200])
def test_noise_of_few_samples_is_as_wide_as_their_deviation_says(n):
    variances = []
    for seed in range(150):
        model = HistoryModel().fit(_samples(n, seed=seed))
        noise = noise_of(model, np.full((400, 1), 64.0))
        factors = noise(np.random.default_rng(seed), np.ones(400))
        assert factors.mean() == pytest.approx(1, abs=0.1)
        variances.append(factors.var())
    assert np.mean(variances) ** 0.5 == pytest.approx(0.2, rel=0.08)


def test_a_drawn_model_of_few_samples_stretches_the_noise():
    model = HistoryModel().fit(_samples(3))
    draw = drawer_of(model, model.uncertainty_, np.array([[64.0]]))
    stretches = [draw(np.random.default_rng(seed)).stretch[0] for seed in range(200)]
    assert max(stretches) > 3 > 1 > min(stretches)


def test_stalls_are_drawn_as_long_as_they_were():
    rng = np.random.default_rng(4)
    stalled = rng.random(2000) < 0.05
    durations = np.where(stalled, 12.0, 0.5 * (1 + 0.03 * rng.standard_normal(2000)))
    rows = np.full((2000, 1), 8.0)
    model = HistoryModel(fence=None).fit(Samples(("n",), rows, durations))
    drawn = noise_of(model, np.full((20_000, 1), 8.0))(rng, np.ones(20_000))
    assert drawn.mean() == pytest.approx(1.0, rel=0.05)
    assert drawn.std() == pytest.approx(durations.std() / durations.mean(), rel=0.15)
    assert drawn.max() < 1.3 * durations.max() / durations.mean()


def test_of_few_samples_the_longest_may_be_missing():
    rng = np.random.default_rng(1)
    durations = np.exp(0.6 * rng.standard_normal(6))
    model = HistoryModel().fit(Samples(("n",), np.full((6, 1), 8.0), durations))
    shifts = np.log(model.draw([[8.0]], rng, 4000) / model.predict([[8.0]]))
    # The variance of the noise is drawn 5/3 of that of six samples in the mean, half of it counts.
    variance = np.log1p((durations.std(ddof=1) / durations.mean()) ** 2)
    assert shifts.mean() == pytest.approx(variance / 3, abs=0.04)
