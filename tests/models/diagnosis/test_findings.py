"""Findings of a diagnosis: what each says, and what cannot be told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from diagnosed_samples import DIRECT, codes, gemm, linear, m2l, without

from tasksim.base.errors import InputError, NotFittedError
from tasksim.models.diagnosis.diagnose import diagnose
from tasksim.models.fitted import columns
from tasksim.models.kinds.given import ConstantModel
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.kinds.linear import LinearModel
from tasksim.models.samples import Samples


def test_the_story_of_m2l_without_the_number_of_interactions_in_the_samples():
    samples = m2l(0, noise=0.03, tasks=600)
    direct = without(samples, "interactions")
    model = linear(direct, DIRECT, weights="none")
    assert 0.85 < model.rsquared_ < 0.95
    finding = next(f for f in diagnose(model, direct).warnings if f.code == "missing-parameter")
    assert finding.names == ()
    assert "errors are stripes" in finding.message
    assert "indirect parameter" in finding.advice
    assert finding.evidence["sd"] > 3 * finding.evidence["noise"]


def test_the_story_of_m2l_with_the_number_of_interactions():
    samples = m2l(0, noise=0.03, tasks=600)
    model = linear(without(samples, "interactions"), DIRECT, weights="none")
    first = diagnose(model, samples).findings[0]
    assert (first.code, first.names) == ("missing-parameter", ("interactions",))
    assert first.evidence["share"] > 0.9
    better = linear(samples, "level + cells + interactions")
    assert better.rsquared_ > 0.98
    assert diagnose(better, samples).warnings == ()
    terms = dict(zip(better.terms_, better.coef_ * 1e6, strict=True))
    assert terms["interactions"] == pytest.approx(0.859, rel=0.02)
    assert terms["level"] == pytest.approx(910, rel=0.1)


def test_a_missing_term_is_named():
    samples = gemm(0, noise=0.02, extra=2e-9)
    found = diagnose(linear(samples), samples)
    finding = next(f for f in found.warnings if f.code == "missing-term")
    assert finding.names[0] == "m*n"
    assert finding.advice.startswith("try the terms 1 + m*n*k with one more, such as m*n")
    assert not diagnose(linear(samples, "m*n*k + m*n"), samples).warnings


def test_advice_names_the_terms_that_were_searched_for():
    samples = gemm(0, noise=0.02, extra=2e-9)
    found = diagnose(linear(samples, "auto", candidates="m*n*k"), samples)
    finding = next(f for f in found.warnings if f.code == "missing-term")
    assert finding.advice.startswith("try the terms 1 + m*n*k with one more, such as m*n")


def test_a_column_that_says_nothing_new_is_not_named():
    samples = gemm(1, noise=0.05, extra=2e-9)
    bytes_ = samples.parameters[:, :2].prod(axis=1) * 8
    table = np.column_stack((samples.parameters, bytes_))
    more = Samples(("m", "n", "k", "size"), table, samples.durations_s, samples.runs)
    found = codes(diagnose(linear(samples), more))
    assert "missing-term" in found
    noise = np.random.default_rng(0).integers(1, 100, len(samples))
    table = np.column_stack((samples.parameters, noise))
    more = Samples(("m", "n", "k", "noise"), table, samples.durations_s, samples.runs)
    assert not diagnose(linear(samples, "m*n*k + m*n"), more).has("missing-parameter")


def test_test_samples_far_from_what_was_fitted():
    samples, test = gemm(0), gemm(1, factor=lambda *_: 1.3)
    found = diagnose(linear(samples), samples, test)
    assert "test-errors" in codes(found)
    assert found.test.bias == pytest.approx(-np.log(1.3), abs=0.02)
    assert codes(diagnose(linear(samples), samples, gemm(2))) == set()


def test_errors_of_held_out_configurations_are_those_of_models_without_them():
    samples = gemm(0, noise=0.05)
    found = diagnose(linear(samples), samples)
    assert found.held_out.configurations == found.training.configurations == 125
    assert found.training.mlogq < found.held_out.mlogq < 1.2 * found.training.mlogq


def test_a_history_cannot_be_cross_validated():
    samples = gemm(0)
    assert diagnose(HistoryModel().fit(samples), samples).held_out is None


def test_findings_say_what_where_and_what_to_do():
    samples = gemm(0, noise=0.05)
    model = linear(samples)
    finding = diagnose(model, samples, asked=[[64, 64, 64], [512, 64, 64]]).warnings[0]
    assert finding.text() == (
        "warning: 1 of 2 configurations asked for are where the model was not fitted, up to 2 "
        "times beyond its box (m=512, n=64, k=64); fitted: m 64 to 256, n 64 to 256, k 64 to 256."
        " Advice: measure configurations there: errors grow quickly outside, and no number here "
        "says how much."
    )


def test_few_values_and_parameters_that_vary_together_are_noted():
    n = np.repeat([64.0, 128, 192, 256], 10)
    rng = np.random.default_rng(0)
    durations = 1e-9 * n**2 * rng.lognormal(0, 0.02, len(n))
    samples = Samples(("m", "n"), np.column_stack((n, n)), durations)
    found = diagnose(linear(samples, "m*n"), samples)
    assert [f.names for f in found.findings if f.code == "few-values"] == [("m",), ("n",)]
    assert next(f for f in found.findings if f.code == "together").names == ("m", "n")
    assert found.warnings == ()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_handful_of_samples_is_no_error(count):
    samples = Samples(("n",), [[64.0]] * count, [1e-3, 1.1e-3, 1.2e-3][:count])
    for model in (HistoryModel(), ConstantModel(1e-3)):
        assert diagnose(model.fit(samples), samples).training.configurations == 1


def test_kernels_without_parameters():
    samples = Samples((), np.empty((40, 0)), np.random.default_rng(0).lognormal(0, 0.1, 40))
    assert diagnose(HistoryModel().fit(samples), samples).warnings == ()


def test_given_coefficients_are_diagnosed_without_intervals():
    samples = gemm(0, noise=0.02)
    model = LinearModel.from_coefficients(samples.names, {"1": 2e-6, "m*n*k": 6e-11})
    found = diagnose(model, samples)
    assert found.warnings == ()
    assert np.isnan(found.coefficients[1].low_s)


def test_what_cannot_be_diagnosed_is_refused():
    samples = gemm(0, repetitions=2)
    with pytest.raises(NotFittedError):
        diagnose(LinearModel("m"), samples)
    with pytest.raises(InputError, match="no samples"):
        diagnose(linear(samples), samples.select(np.zeros(0, int)))
    with pytest.raises(InputError, match="needs the parameter k"):
        diagnose(linear(samples), without(samples, "k"))
    with pytest.raises(InputError, match="samples: expected Samples"):
        diagnose(linear(samples), None)


def test_samples_with_columns_in_another_order_give_the_same():
    samples = gemm(3, noise=0.05, repetitions=3)
    model = linear(samples)
    turned = Samples(
        ("k", "m", "n"), samples.parameters[:, [2, 0, 1]], samples.durations_s, samples.runs
    )
    assert np.array_equal(columns(model, turned.names, turned.parameters), samples.parameters)
    first, second = diagnose(model, samples), diagnose(model, turned)
    assert first.findings == second.findings
    assert first.held_out == second.held_out


def test_the_example_of_starpu_has_two_kinds_of_samples():
    """Its samples of each configuration fall into two groups, some 40 % apart."""
    folder = Path(__file__).parents[2].parent / "shared" / "data" / "starpu"
    path = folder / "sampling" / "codelets" / "tmp" / "mlr_init.out"
    if not path.exists():
        pytest.skip("StarPU's sampling folder is not beside the checkout")
    rows = np.loadtxt(path, delimiter=",", skiprows=1)
    samples = Samples(("M", "N", "K"), rows[:, 1:], rows[:, 0] * 1e-6)
    found = diagnose(linear(samples, "M^2*N + N^3*K"), samples)
    assert "two-peaks" in codes(found)


def test_where_nothing_was_measured_twice_no_samples_of_equal_parameters_differ():
    """600 configurations, once each, that a formula misses by half: no noise is known."""
    n = np.arange(100.0, 700.0)
    samples = Samples(("n",), n[:, None], 1e-6 * np.where(np.arange(600) % 2, 1.0, 3.0))
    found = diagnose(LinearModel("n").fit(samples), samples)
    (finding,) = [one for one in found.findings if one.code == "wide-spread"]
    assert finding.message.startswith("samples differ from the model by ")
    assert "hardly any configuration was measured twice" in finding.message
    assert not any("equal parameters" in one.message for one in found.findings)


def test_samples_without_noise_are_no_uneven_noise():
    """Rounding errors may all be equal, and they depend on the processor."""
    n = np.repeat([1.0, 2.0, 4.0, 8.0], 16)
    samples = Samples(("n",), n[:, None], n / 8)
    found = diagnose(HistoryModel().fit(samples), samples).findings
    assert "uneven-noise" not in {finding.code for finding in found}
