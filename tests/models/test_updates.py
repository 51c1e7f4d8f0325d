"""Models that learn further samples without those that they were fitted to."""

import json

import numpy as np
import pytest

from tasksim.base.errors import InputError
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.kinds.linear import LinearModel
from tasksim.models.kinds.power import PowerLaw
from tasksim.models.registry import from_json
from tasksim.models.samples import Samples
from tasksim.models.tensor.model import TensorModel

NAMES = ("m", "n")
EDGES = np.geomspace(16, 512, 7).tolist()


def measured(count, seed=0):
    rng = np.random.default_rng(seed)
    table = np.exp(rng.uniform(np.log(16), np.log(512), (count, 2))).round()
    durations = (1e-6 + 1e-9 * table.prod(axis=1)) * rng.lognormal(0, 0.03, count)
    return Samples(NAMES, table, durations)


def tensor(mode="interpolation"):
    spacing = dict.fromkeys(NAMES, EDGES)
    return TensorModel(mode, rank=2, cells=6, ridge=1e-4, spacing=spacing)


def read_again(model):
    """Return the model from its file, which keeps what an update needs."""
    model.updatable = True
    return from_json(json.loads(json.dumps(model.to_json())))


def parts_of(samples, size):
    for start in range(0, len(samples), size):
        yield samples.select(np.arange(start, min(start + size, len(samples))))


def test_a_history_in_parts_has_the_statistics_of_all_samples():
    rng = np.random.default_rng(0)
    table = rng.integers(1, 5, (300, 1)).astype(float)
    samples = Samples(("n",), table, table[:, 0] * rng.lognormal(0, 0.1, 300))
    once = HistoryModel(fence=None).fit(samples)
    model = HistoryModel(fence=None)
    for part in parts_of(samples, 7):  # the first part fits it
        model.partial_fit(part)
    assert model.rows_.tolist() == once.rows_.tolist()
    assert model.count_.tolist() == once.count_.tolist()
    assert model.mean_ == pytest.approx(once.mean_, rel=1e-12)
    assert model.spread_ == pytest.approx(once.spread_, rel=1e-9)
    assert model.quantiles_[:, [0, -1]].tolist() == once.quantiles_[:, [0, -1]].tolist()
    # Between the 11 stored quantiles of a part, its samples are taken to be on a line.
    assert model.quantiles_[:, 4:7] == pytest.approx(once.quantiles_[:, 4:7], rel=0.03)
    assert model.report()["samples"] == 300
    assert model.report()["updated"] == 293


def test_a_history_learns_a_new_configuration_and_drops_a_stall():
    times = [1.0, 1.01, 1.02, 1.03, 1.04, 1.05, 1.06, 1.07]
    model = HistoryModel().fit(Samples(("n",), [[1]] * 8, times))
    model.partial_fit(Samples(("n",), [[1], [0], [1]], [50.0, 7.0, 1.035]))
    assert model.rows_.tolist() == [[0], [1]]
    assert model.mean_ == pytest.approx([7.0, 1.035])
    assert (model.count_.tolist(), model.dropped_.tolist()) == ([1, 9], [0, 1])
    assert model.domain_ == {"n": (0.0, 1.0)}
    report = model.report()
    assert (report["samples"], report["dropped"], report["configurations"]) == (11, 1, 2)


def test_a_history_of_an_earlier_version_can_be_updated():
    model = HistoryModel().fit(measured(20))
    again = from_json(json.loads(json.dumps(model.to_json())))
    again.partial_fit(measured(1, seed=1))
    assert len(again.rows_) == 21


@pytest.mark.parametrize("size", [1, 40])
def test_a_regression_in_parts_is_that_of_all_samples(size):
    samples = measured(120)
    once = LinearModel("m*n", weights="none", fence=None).fit(samples)
    model = LinearModel("m*n", weights="none", fence=None).fit(samples.select(np.arange(40)))
    model = read_again(model)
    for part in parts_of(samples.select(np.arange(40, 120)), size):
        model.partial_fit(part)
    assert model.coef_ == pytest.approx(once.coef_, rel=1e-8)
    assert model.intervals_ == pytest.approx(once.intervals_, rel=1e-8)
    assert model.pvalues_ == pytest.approx(once.pvalues_, rel=1e-4, abs=1e-280)
    assert model.rsquared_adj_ == pytest.approx(once.rsquared_adj_, rel=1e-10)
    assert read_again(model).predict([[64, 64]]) == model.predict([[64, 64]])


def test_relative_weights_are_those_of_the_model_when_it_learnt():
    samples = measured(200)
    once = LinearModel("m*n", fence=None).fit(samples)
    model = LinearModel("m*n", fence=None).fit(samples.select(np.arange(50)))
    for part in parts_of(samples.select(np.arange(50, 200)), 10):
        model.partial_fit(part)
    asked = [[16, 16], [100, 100], [512, 512]]
    assert model.predict(asked) == pytest.approx(once.predict(asked), rel=2e-3)
    terms = model.report()["terms"]
    assert [term["coefficient"] for term in terms] == model.coef_.tolist()


@pytest.mark.parametrize("mode", ["interpolation", "positive"])
def test_a_tensor_in_parts_is_as_good_as_one_of_all_samples(mode):
    samples, others = measured(240), measured(500, seed=1)

    def error(model):
        return np.abs(np.log(model.predict(others.parameters) / others.durations_s)).mean()

    half = tensor(mode).fit(samples.select(np.arange(60)))
    before = error(half)
    model = read_again(half)
    for part in parts_of(samples.select(np.arange(60, 240)), 45):
        model.partial_fit(part)
    once = tensor(mode).fit(samples)
    assert error(model) < before
    # 1.1: a fit also moves the earlier samples again to the points of their cells.
    assert error(model) < 1.1 * error(once)
    assert model.report()["configurations"] == once.report()["configurations"]


def test_a_tensor_forgets_no_sample_that_only_its_file_knows():
    samples = measured(100)
    model = tensor().fit(samples)
    model.updatable = True
    written = model.to_json()["update"]
    assert sum(written["counts"]) == model.report()["configurations"]
    again = read_again(model)
    again.partial_fit(Samples(NAMES, [[64, 64]], [5e-6]))
    assert sum(again.to_json()["update"]["counts"]) == sum(written["counts"]) + 1


def test_a_tensor_learns_single_samples_of_a_change():
    model = tensor().fit(measured(200))
    before = model.predict([[100, 100]])[0]
    for _ in range(60):
        model.partial_fit(Samples(NAMES, [[100, 100]], [2 * before]))
    assert model.predict([[100, 100]])[0] > 1.2 * before


def test_files_have_what_an_update_needs_only_if_asked():
    for model in (tensor(), LinearModel("m*n")):
        data = model.fit(measured(60)).to_json()
        assert "update" not in data
        with pytest.raises(InputError, match=r"which an update needs: .*--updatable"):
            from_json(data).partial_fit(measured(5, seed=1))


def test_refusals():
    power = PowerLaw().fit(Samples(("n",), [[1], [2], [4]], [1.0, 2.0, 4.0]))
    with pytest.raises(InputError, match=r"power models cannot be updated: .*history, mlr, cp"):
        power.partial_fit(Samples(("n",), [[1]], [1.0]))
    with pytest.raises(InputError, match=r"n=9000 is not on the grid .* which is 16 to 512"):
        tensor().fit(measured(60)).partial_fit(Samples(NAMES, [[64, 9000]], [1.0]))
    huber = LinearModel("m*n", weights="huber").fit(measured(60))
    with pytest.raises(InputError, match="'huber' cannot be updated"):
        huber.partial_fit(measured(5, seed=1))
    with pytest.raises(InputError, match="no samples to learn"):
        tensor().fit(measured(60)).partial_fit(measured(5).select(np.arange(0)))
    with pytest.raises(InputError, match="needs the parameter n"):
        tensor().fit(measured(60)).partial_fit(Samples(("m",), [[64]], [1.0]))


def test_a_parameter_that_was_the_same_in_all_samples_must_stay_so():
    model = HistoryModel().fit(Samples(("n",), [[1], [2]], [1.0, 2.0], constants={"threads": 2.0}))
    with pytest.raises(InputError, match="threads is 4 in the new samples, and 2 in all"):
        model.partial_fit(Samples(("n", "threads"), [[1, 4]], [1.0]))
    model.partial_fit(Samples(("n", "threads"), [[1, 2]], [3.0]))
    assert model.predict([[1]]).tolist() == [2.0]


def test_categories_are_those_of_the_model():
    def of(layouts, durations):
        return Samples.from_columns({"layout": layouts, "duration_s": durations})

    model = HistoryModel().fit(of(["row", "col"], [1.0, 5.0]))
    model.partial_fit(of(["row"], [3.0]))
    assert model.predict([["row"], ["col"]]).tolist() == [2.0, 5.0]
    with pytest.raises(InputError, match="layout"):
        model.partial_fit(of(["diagonal"], [3.0]))
