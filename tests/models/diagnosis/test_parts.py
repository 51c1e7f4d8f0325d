import numpy as np
import pytest

from tasksim.models.diagnosis.diagnose import beyond
from tasksim.models.diagnosis.findings import (
    Finding,
    normal_points,
    residuals,
    sorted_findings,
    spread_by_fitted,
)
from tasksim.models.diagnosis.lackoffit import explained, neighbours_share, stripes
from tasksim.models.diagnosis.linearfindings import influence
from tasksim.models.diagnosis.noisefindings import run_shifts, shifted_runs
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.kinds.linear import LinearModel
from tasksim.models.samples import Samples
from tasksim.models.terms.leastsquares import variance_inflation


def samples_of(x, y, runs=None):
    return Samples(("n",), np.asarray(x, float)[:, None], y, runs)


@pytest.fixture
def small():
    rng = np.random.default_rng(0)
    x = np.repeat([1.0, 2, 3, 5, 8, 13], 3)
    return samples_of(x, (1 + 0.5 * x) * rng.lognormal(0, 0.1, len(x)))


def test_influence_is_that_of_statsmodels(small):
    from statsmodels.regression.linear_model import OLS

    model = LinearModel("n", weights="none", fence=None).fit(small)
    found = influence(model.linear(), residuals(model, small))
    x = np.column_stack((np.ones(len(small)), small.parameters[:, 0]))
    theirs = OLS(small.durations_s, x).fit().get_influence()
    assert found.leverage == pytest.approx(theirs.hat_matrix_diag)
    assert found.cook == pytest.approx(theirs.cooks_distance[0])
    assert found.studentized == pytest.approx(theirs.resid_studentized_external)


def test_influence_of_a_configuration_is_what_the_fit_without_it_says(small):
    model = LinearModel("n", weights="none", fence=None).fit(small)
    res = residuals(model, small)
    found = influence(model.linear(), res)
    rows = small.configurations()[0]
    for index in range(len(rows)):
        others = LinearModel("n", weights="none", fence=None).fit(small.select(res.group != index))
        change = np.abs(others._raw(rows) - model._raw(rows)) / small.durations_s.mean()
        assert found.group_shift[index] == pytest.approx(change.max())


def test_inflation_is_that_of_statsmodels():
    from statsmodels.stats.outliers_influence import variance_inflation_factor

    rng = np.random.default_rng(0)
    a = rng.normal(5, 1, 50)
    design = np.column_stack((np.ones(50), a, a + rng.normal(0, 0.3, 50), rng.normal(0, 1, 50)))
    found = variance_inflation(design, np.ones(50), constant=True)
    theirs = [variance_inflation_factor(design, column) for column in (1, 2, 3)]
    assert np.isnan(found[0])
    assert found[1:] == pytest.approx(theirs)


def test_normal_points_of_a_normal_sample_are_on_the_line():
    quantiles, values = normal_points(np.random.default_rng(0).normal(3, 2, 5000))
    assert np.abs(quantiles - values)[50:-50].max() < 0.1
    assert normal_points(np.ones(3))[1].tolist() == [0, 0, 0]


def test_residuals_are_relative_to_the_prediction_but_for_absolute_fits():
    samples = samples_of([1, 1, 2, 2, 4, 4], [1.0, 1.2, 2.0, 2.2, 4.0, 4.4])
    res = residuals(HistoryModel().fit(samples), samples)
    assert res.relative == pytest.approx([-1 / 11, 1 / 11, -1 / 21, 1 / 21, -1 / 21, 1 / 21])
    model = LinearModel("n", weights="none").fit(samples)
    absolute = residuals(model, samples)
    expected = (
        samples.durations_s - model.predict(samples.parameters)
    ) / samples.durations_s.mean()
    assert absolute.relative == pytest.approx(expected)


def test_outliers_are_left_out_as_the_fit_does():
    rng = np.random.default_rng(0)
    y = rng.lognormal(0, 0.02, 40)
    y[7] = 50.0
    samples = samples_of(np.repeat([1.0, 2.0], 20), y)
    res = residuals(HistoryModel().fit(samples), samples)
    assert (res.dropped, len(res.samples)) == (1, 39)


def test_spread_by_fitted_keeps_equal_predictions_together():
    rng = np.random.default_rng(0)
    x = np.repeat([1.0, 10.0], [300, 100])
    samples = samples_of(x, x * rng.lognormal(0, np.where(x == 1, 0.01, 0.1)))
    res = residuals(HistoryModel(fence=None).fit(samples), samples)
    middle, spread, count = spread_by_fitted(res, 10)
    assert count.tolist() == [300, 100]
    assert middle == pytest.approx([1, 10], rel=0.05)
    assert spread == pytest.approx([0.01, 0.1], rel=0.2)


def test_shifts_between_runs_are_those_put_in():
    factor = np.array([1.0, 1.0, 1.3, 1.0, 0.8])
    runs = np.tile(np.arange(5), 40)
    x = np.repeat(np.arange(1.0, 9.0), 25)
    rng = np.random.default_rng(0)
    shifts = run_shifts(samples_of(x, x * factor[runs] * rng.lognormal(0, 0.01, 200), runs))
    assert np.exp(shifts.shift) == pytest.approx(factor, rel=0.01)
    assert shifts.odd.tolist() == [False, False, True, False, True]


def test_odd_runs_are_one_finding_and_hardly_matter_among_many():
    def found(count):
        rng = np.random.default_rng(0)
        runs, x = np.tile(np.arange(count), 40), np.repeat(np.arange(1.0, 9.0), 5 * count)
        factor = np.where((runs == 2) | (runs == 4), 1.0 + 0.1 * runs, 1.0)
        y = x * factor * rng.lognormal(0, 0.01, len(x))
        return list(shifted_runs(samples_of(x, y, runs)))

    (few,), (many,) = found(10), found(200)
    assert (few.severity, many.severity) == ("warning", "note")
    assert few.names == many.names == ("4", "2")
    assert few.message == (
        "runs 4, 2 took up to 40 % longer than the others for equal configurations"
    )
    assert few.evidence["share_of_samples"] == pytest.approx(0.2)


def test_runs_without_common_configurations_cannot_be_compared():
    assert run_shifts(samples_of([1, 1, 2, 2], [1.0, 1.0, 9.0, 9.0], [0, 0, 1, 1])) is None
    assert run_shifts(samples_of([1, 1], [1.0, 2.0])) is None
    assert run_shifts(samples_of([1, 1], [1.0, 2.0], [-1, -1])) is None


def test_with_two_runs_the_longer_one_is_off():
    rng = np.random.default_rng(0)
    runs, x = np.tile([4, 9], 50), np.repeat(np.arange(1.0, 11.0), 10)
    shifts = run_shifts(
        samples_of(x, np.where(runs == 9, 1.2, 1) * rng.lognormal(0, 0.01, 100), runs)
    )
    assert shifts.runs[shifts.odd].tolist() == [9]


def test_stripes_are_the_spread_of_configurations_beyond_noise():
    rng = np.random.default_rng(0)
    x = np.repeat(np.arange(1.0, 201.0), 10)
    off = np.repeat(rng.normal(0, 0.2, 200), 10)
    samples = samples_of(x, (1 + off) * rng.normal(1, 0.05, len(x)))
    model = LinearModel.from_coefficients(("n",), {"1": 1.0})
    found = stripes(residuals(model, samples), 1)
    assert found.sd == pytest.approx(0.2, rel=0.15)
    assert found.noise == pytest.approx(0.05, rel=0.1)
    assert found.pvalue < 1e-12


def test_stripes_need_repetitions():
    samples = samples_of(np.arange(1.0, 21.0), np.ones(20))
    found = stripes(residuals(LinearModel.from_coefficients(("n",), {"1": 1.0}), samples), 1)
    assert np.isnan(found.sd)
    assert np.isnan(found.pvalue)


def test_explained_share_is_adjusted_for_chance():
    rng = np.random.default_rng(0)
    noise, basis = rng.normal(0, 1, 100), rng.normal(0, 1, (100, 5))
    shares = [explained(rng.normal(0, 1, 100), np.ones(100), basis).share for _ in range(50)]
    assert abs(np.mean(shares)) < 0.02
    found = explained(basis[:, 0] * 2 + noise, np.ones(100), basis)
    assert found.share == pytest.approx(0.8, abs=0.08)
    assert found.pvalue < 1e-10
    assert explained(noise[:6], np.ones(6), basis[:6]) is None


def test_neighbours_share_a_step_and_no_noise():
    rows = np.arange(100.0)[:, None]
    assert neighbours_share(rows, np.where(rows[:, 0] < 50, -1.0, 1.0)) > 0.9
    assert neighbours_share(rows, np.random.default_rng(0).normal(0, 1, 100)) < 0.2


def test_how_far_beyond_the_box():
    model = HistoryModel().fit(samples_of([2, 4], [1.0, 2.0]))
    assert beyond(model, np.array([[3.0], [8.0], [0.5], [0.0]])).tolist() == [1, 2, 4, np.inf]


def test_warnings_come_first():
    findings = [Finding("a", "note", "A"), Finding("b", "warning", "B"), Finding("c", "note", "C")]
    assert [f.code for f in sorted_findings(findings)] == ["b", "a", "c"]
