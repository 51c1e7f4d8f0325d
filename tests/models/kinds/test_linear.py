from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from tasksim.base.errors import InputError, ModelError, NotFittedError
from tasksim.models.kinds.linear import LinearModel
from tasksim.models.registry import from_json
from tasksim.models.samples import Samples
from tasksim.models.terms.formulas import parse_terms

NAMES = ("M", "N", "K")
TERMS = "M^2*N + N^3*K"
TRUE_COEFFICIENTS = np.array([4e-6, 3e-11, 5e-14])


def mlr_samples(count=400, noise=0.05, seed=0):
    """Samples of T = a + b M²N + c N³K, the example of StarPU's documentation."""
    rng = np.random.default_rng(seed)
    table = rng.integers(8, 200, (count, 3)).astype(float)
    exact = parse_terms(TERMS, NAMES).design(table) @ TRUE_COEFFICIENTS
    factor = 1 + noise * rng.uniform(-1.7, 1.7, count)
    return Samples(NAMES, table, exact * factor)


def test_exact_durations_give_the_coefficients_back():
    samples = mlr_samples(noise=0.0)
    for weights in ("relative", "none", "huber"):
        model = LinearModel(TERMS, weights=weights).fit(samples)
        assert model.coef_ == pytest.approx(TRUE_COEFFICIENTS, rel=1e-9)
        assert model.rsquared_ == pytest.approx(1.0)
    assert model.terms_ == ("1", "M^2*N", "N^3*K")
    assert model.formula() == "4e-06 + 3e-11*M^2*N + 5e-14*N^3*K"


def test_unweighted_is_ordinary_least_squares():
    samples = mlr_samples()
    model = LinearModel(TERMS, weights="none").fit(samples)
    X = parse_terms(TERMS, NAMES).design(samples.parameters)
    scale = np.linalg.norm(X, axis=0)
    expected = np.linalg.lstsq(X / scale, samples.durations_s, rcond=None)[0] / scale
    assert model.coef_ == pytest.approx(expected, rel=1e-9)


def test_unweighted_statistics_are_those_of_statsmodels():
    from statsmodels.regression.linear_model import OLS

    samples = mlr_samples()
    model = LinearModel(TERMS, weights="none").fit(samples)
    X = parse_terms(TERMS, NAMES).design(samples.parameters)
    scale = np.array([1.0, 1e6, 1e8])
    expected = OLS(samples.durations_s, X / scale).fit()
    assert model.intervals_ == pytest.approx(expected.conf_int() / scale[:, None], rel=1e-6)
    assert model.pvalues_ == pytest.approx(expected.pvalues, rel=1e-6, abs=1e-12)
    assert model.rsquared_ == pytest.approx(expected.rsquared)
    assert model.rsquared_adj_ == pytest.approx(expected.rsquared_adj)


def test_weighted_r_squared_is_that_of_statsmodels():
    from statsmodels.regression.linear_model import WLS

    samples = mlr_samples()
    model = LinearModel(TERMS).fit(samples)
    X = parse_terms(TERMS, NAMES).design(samples.parameters)
    expected = WLS(
        samples.durations_s, X / X.max(axis=0), weights=model.predict(samples.parameters) ** -2
    )
    results = expected.fit()
    assert model.rsquared_ == pytest.approx(results.rsquared)
    assert model.coef_ == pytest.approx(results.params / X.max(axis=0), rel=1e-6)
    without = LinearModel(f"{TERMS} - 1", weights="none").fit(samples)
    uncentered = WLS(samples.durations_s, X[:, 1:] / X[:, 1:].max(axis=0)).fit()
    assert without.rsquared_ == pytest.approx(uncentered.rsquared)
    assert without.rsquared_adj_ == pytest.approx(uncentered.rsquared_adj)


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    held = 0
    for seed in range(60):
        intervals = LinearModel(TERMS).fit(mlr_samples(60, seed=seed)).intervals_
        held += (
            (intervals[:, 0] <= TRUE_COEFFICIENTS) & (intervals[:, 1] >= TRUE_COEFFICIENTS)
        ).sum()
    # 180 intervals of 95 %: 171 expected, 9 misses; 20 would be four standard deviations.
    assert 160 <= held <= 179


def test_relative_weights_serve_short_tasks():
    samples = mlr_samples(noise=0.1)
    short = samples.parameters[samples.durations_s < np.quantile(samples.durations_s, 0.1)]
    truth = parse_terms(TERMS, NAMES).design(short) @ TRUE_COEFFICIENTS
    errors = {
        weights: np.abs(
            np.log(LinearModel(TERMS, weights=weights).fit(samples).predict(short) / truth)
        )
        for weights in ("relative", "none")
    }
    assert errors["relative"].mean() < 0.5 * errors["none"].mean()


def test_relative_weights_are_not_biased_by_noise():
    # Weights of 1/y² with the measured y give predictions too short by 2 x 0.29² = 17 %.
    samples = mlr_samples(4000, noise=0.3)
    model = LinearModel(TERMS).fit(samples)
    truth = parse_terms(TERMS, NAMES).design(samples.parameters) @ TRUE_COEFFICIENTS
    assert np.log(model.predict(samples.parameters) / truth).mean() == pytest.approx(0, abs=0.01)


def test_huber_resists_outliers_where_every_configuration_is_measured_once():
    samples = mlr_samples(noise=0.02)
    durations = samples.durations_s.copy()
    durations[::20] *= 8
    spoilt = Samples(NAMES, samples.parameters, durations)
    truth = parse_terms(TERMS, NAMES).design(samples.parameters) @ TRUE_COEFFICIENTS

    def error(weights):
        predicted = LinearModel(TERMS, weights=weights).fit(spoilt).predict(samples.parameters)
        return np.abs(np.log(predicted / truth)).mean()

    assert error("huber") < 0.005 < 0.02 < error("relative") < 0.1 < error("none")


def test_outliers_of_a_configuration_are_dropped():
    table = np.repeat([[1.0], [2.0], [3.0]], 10, axis=0)
    durations = table[:, 0] * np.tile(np.linspace(0.98, 1.02, 10), 3)
    durations[5] = 30.0
    model = LinearModel("n").fit(Samples(("n",), table, durations))
    assert model.report()["dropped"] == 1
    assert model.predict([[2]])[0] == pytest.approx(2.0, rel=0.01)
    assert (
        LinearModel("n", fence=None).fit(Samples(("n",), table, durations)).report()["dropped"] == 0
    )


def test_negative_predictions_are_floored_and_counted():
    table = np.arange(1.0, 9.0)[:, None]
    model = LinearModel("n", weights="none").fit(Samples(("n",), table, (table[:, 0] - 0.9) ** 2))
    assert model.floor_s_ == pytest.approx(0.1 * 0.1**2)
    assert model.floored([[1], [8]]).tolist() == [True, False]
    assert model.predict([[1]])[0] == model.floor_s_
    assert model.report()["floored"] == model.floored(table).sum() == 1


def test_it_extrapolates_and_says_so():
    model = LinearModel(TERMS).fit(mlr_samples(noise=0.0))
    far = [[1000.0, 1000.0, 1000.0]]
    assert model.predict(far) == pytest.approx([TRUE_COEFFICIENTS @ [1, 1e9, 1e12]])
    assert not model.inside(far)[0]


def test_samples_scatter_like_the_residuals():
    samples = mlr_samples(2000, noise=0.2)
    model = LinearModel(TERMS).fit(samples)
    row = np.tile([100.0, 100.0, 100.0], (20_000, 1))
    ratio = model.sample(row, np.random.default_rng(0)) / model.predict(row[:1])[0]
    assert ratio.mean() == pytest.approx(1.0, abs=0.01)
    # Uniform within 1.7 x 0.2 of 1.
    assert ratio.std() == pytest.approx(0.2 * 1.7 / np.sqrt(3), rel=0.05)


@pytest.mark.parametrize(
    ("terms", "table", "message"),
    [
        ("m + n", [[1, 1], [2, 2], [3, 3], [4, 4]], "n is a combination of m. Measure"),
        ("m + n", [[1, 3], [2, 2], [3, 1], [3, 1]], "n is a combination of 1, m"),
        (
            "m*n + m^2 + m",
            [[1, 1], [2, 2], [3, 3], [4, 4], [5, 5]],
            r"m\^2 is a combination of m\*n\. ",
        ),
        ("m", [[4, 1], [4, 2], [4, 3]], "m is a combination of 1"),
        ("m + n + m*n", [[1, 2], [1, 2], [3, 1], [2, 5]], "at least 4 configurations .*, got 3"),
        ("m + n", [[1, 2], [3, 1], [2, 5]], "need more than 3 samples, got 3"),
        ("m + q", [[1, 2], [3, 1], [2, 5]], "column 5: unknown parameter 'q'"),
        ("log(m)", [[0, 2], [3, 1], [2, 5]], r"the term log\(m\) is not finite for m=0"),
    ],
)
def test_samples_that_cannot_tell_are_refused(terms, table, message):
    with pytest.raises(InputError, match=message):
        LinearModel(terms).fit(Samples(("m", "n"), table, np.arange(1.0, len(table) + 1)))


def test_unknown_weights():
    with pytest.raises(InputError, match="unknown weights 'relativ', did you mean 'relative'"):
        LinearModel("M", weights="relativ").fit(mlr_samples())


def test_report_names_the_worst_configuration():
    table = np.repeat([[1.0], [2.0], [4.0], [8.0]], 3, axis=0)
    durations = table[:, 0].copy()
    durations[3:6] = 2.5
    model = LinearModel("n - 1", weights="none").fit(Samples(("n",), table, durations))
    report = model.report()
    assert report["worst"]["parameters"] == {"n": 2}
    assert report["worst"]["measured_s"] == 2.5
    assert report["worst"]["error"] == pytest.approx(2 * model.coef_[0] / 2.5 - 1)
    assert report["samples"] == 12
    assert report["formula"].endswith("*n")


def test_a_fitted_model_is_read_without_statsmodels():
    model = LinearModel(TERMS).fit(mlr_samples())
    script = (
        "import json, sys\n"
        "from tasksim.models.registry import from_json\n"
        "model = from_json(json.loads(sys.stdin.read()))\n"
        "print(repr(model.predict([[10, 20, 30]])[0].item()))\n"
        "print(sorted({'statsmodels', 'pandas', 'scipy', 'matplotlib'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=json.dumps(model.to_json()),
        capture_output=True,
        text=True,
        check=True,
    )
    predicted, imported = done.stdout.splitlines()
    assert float(predicted) == model.predict([[10, 20, 30]])[0]
    assert imported == "[]"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["terms"][1].update(term="M^2*Q"), "terms: .*unknown parameter 'Q'"),
        (
            lambda d: d["terms"][1].update(coefficient=None),
            r"terms\[1\].coefficient: expected a num",
        ),
        (
            lambda d: d["terms"][1].update(interval=[1.0]),
            r"terms\[1\].interval: expected a list of 2",
        ),
        (lambda d: d["terms"][1].pop("p_value"), r"terms\[1\]: 'p_value' is missing"),
        (lambda d: d.update(floor_s=0), "floor_s: expected a number larger than 0, got 0"),
        (lambda d: d["residual_quantiles"].reverse(), "residual_quantiles: expected .* ascending"),
        (lambda d: d["options"].pop("terms"), "options: 'terms' is missing"),
        (lambda d: d["domain"].update(M=[1, "x"]), r'domain.M\[1\]: expected a number, got "x"'),
        (lambda d: d["domain"].pop("K"), "domain: 'K' is missing"),
    ],
)
def test_malformed_json_is_refused_with_its_path(change, message):
    data = LinearModel(TERMS).fit(mlr_samples()).to_json()
    change(data)
    with pytest.raises(InputError, match=message):
        LinearModel.from_json(data)


def test_known_coefficients_are_taken_as_they_are():
    model = LinearModel.from_coefficients(("n", "m"), {"m^2*n": 2e-9, "1": 1e-6})
    assert model.predict([[3, 5]]).tolist() == [1e-6 + 2e-9 * 75]
    assert model.names_ == ("n", "m")
    assert model.terms_ == ("n*m^2", "1")
    again = from_json(json.loads(json.dumps(model.to_json())))
    assert again.predict([[3, 5]]).tolist() == model.predict([[3, 5]]).tolist()
    assert again.report() == model.report()
    assert model.report()["mlogq"] is None


def test_samples_tell_domain_and_spread_of_known_coefficients():
    samples = Samples(("x", "n"), [[9, 1], [9, 2], [9, 4]], [1.0, 3.0, 4.0])
    model = LinearModel.from_coefficients(("n",), {"n": 1.0}, samples)
    assert model.domain_ == {"n": (1.0, 4.0)}
    assert model.residual_quantiles_[[0, 5, -1]].tolist() == [1.0, 1.0, 1.5]
    assert model.report()["worst"]["parameters"] == {"n": 2}


@pytest.mark.parametrize(
    ("coefficients", "message"),
    [
        ({"k": 1.0}, "unknown parameter 'k'"),
        ({"n*m": 1.0, "m*n": 2.0}, r"the term m\*n is given twice"),
        ({"n": np.inf}, "legal: a finite number"),
        ({}, "there are no terms"),
    ],
)
def test_coefficients_that_are_none_are_refused(coefficients, message):
    with pytest.raises(InputError, match=message):
        LinearModel.from_coefficients(("m", "n"), coefficients)


@pytest.mark.parametrize("term", ["n*log2(n)", "log(n)", "n^-1"])
def test_where_a_term_has_a_pole_the_least_measured_value_is_taken(term):
    n = np.array([3.0, 5.0, 9.0, 17.0, 33.0])
    samples = Samples(("n",), n[:, None], 1e-3 + 1e-5 * n)
    model = LinearModel(term).fit(samples)
    assert model.predict([[0.0]]) == model.predict([[3.0]])
    assert not model.inside([[0.0]])[0]
    given = LinearModel.from_coefficients(("n",), {"1": 1.0, term: 1.0})
    with pytest.raises(InputError, match="is not finite for n=0"):
        given.predict([[0.0]])


@pytest.mark.parametrize("weights", ["relative", "none", "huber"])
def test_statsmodels_results_have_the_coefficients_of_the_model(weights):
    rng = np.random.default_rng(0)
    table = np.round(2 ** rng.uniform(3, 12, (80, 3)))
    exact = 1e-10 * table.prod(axis=1) + 1e-8 * table[:, 0] / table[:, 2] + 1e-6
    samples = Samples(("m", "n", "p"), table, exact * rng.lognormal(0.0, 0.05, 80))
    model = LinearModel("m*n*p + m/p", weights=weights).fit(samples)
    results = model.results()
    assert results.params.index.tolist() == list(model.terms_) == ["1", "m*n*p", "m/p"]
    assert results.params.to_numpy() == pytest.approx(model.coef_, rel=1e-9)
    assert results.pvalues.to_numpy() == pytest.approx(model.pvalues_, rel=1e-6, abs=1e-300)
    assert results.conf_int().to_numpy() == pytest.approx(model.intervals_, rel=1e-9)
    assert results.df_resid == 77
    if weights != "huber":
        assert results.rsquared_adj == pytest.approx(model.rsquared_adj_, rel=1e-12)
        # Products of three sizes are longer than the constant, which is no collinearity.
        assert 1 <= results.condition_number < 10
    text = str(model.summary())
    assert all(term in text for term in model.terms_)
    assert "multicollinearity" not in text


def test_a_model_from_a_file_has_no_statsmodels_results():
    n = np.arange(1.0, 30.0)
    model = LinearModel("n").fit(Samples(("n",), n[:, None], 1e-6 * n))
    assert model.summary() is not None
    for other in (from_json(model.to_json()), LinearModel.from_coefficients(("n",), {"n": 1.0})):
        with pytest.raises(ModelError, match=r"need its samples.*fit it to them"):
            other.summary()
    with pytest.raises(NotFittedError):
        LinearModel("n").results()
