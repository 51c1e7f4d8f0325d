from pathlib import Path

import numpy as np
import pytest

from tasksim.base.errors import InputError, NotFittedError
from tasksim.models.columns import columns
from tasksim.models.diagnosis.diagnose import diagnose
from tasksim.models.kinds.bysize import SizeHistory
from tasksim.models.kinds.constant import ConstantModel
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.kinds.linear import LinearModel
from tasksim.models.kinds.power import PowerLaw
from tasksim.models.samples import Samples

SIZES = (64, 96, 128, 192, 256)


def gemm(seed, noise=None, repetitions=12, sizes=SIZES, factor=None, extra=0.0):
    """Durations 2 µs + 60 ps per m·n·k (and *extra* per m·n), times noise, times *factor*."""
    rng = np.random.default_rng(seed)
    noise = rng.uniform(0.01, 0.1) if noise is None else noise
    grid = np.array([(m, n, k) for m in sizes for n in sizes for k in sizes], float)
    table = np.repeat(grid, repetitions, axis=0)
    runs = np.arange(len(table)) % repetitions
    true = 2e-6 + 6e-11 * table.prod(axis=1) + extra * table[:, 0] * table[:, 1]
    if factor is not None:
        true = true * factor(table, runs, rng, noise)
    return Samples(("m", "n", "k"), table, true * rng.lognormal(0, noise, len(table)), runs)


def line(seed, x, duration, repetitions=10, noise=None):
    rng = np.random.default_rng(seed)
    noise = rng.uniform(0.01, 0.1) if noise is None else noise
    n = np.repeat(np.asarray(x, float), repetitions)
    return Samples(("n",), n[:, None], duration(n) * rng.lognormal(0, noise, len(n)))


def m2l(seed, noise=None, tasks=300):
    """Multipole-to-local interactions: few facts are free, how many there are decides."""
    rng = np.random.default_rng(seed)
    noise = rng.uniform(0.01, 0.1) if noise is None else noise
    level = rng.integers(5, 9, tasks).astype(float)
    cells = np.round(np.exp(rng.uniform(np.log(200), np.log(2000), tasks)))
    interval = np.round(cells * np.exp(rng.uniform(0, 2.5, tasks)))
    interactions = np.round(cells * rng.uniform(22, 38, tasks))
    true = (-4e3 + 910 * level + 5.34 * cells + 0.859 * interactions) * 1e-6
    table = np.tile(np.column_stack((level, cells, interval, interactions)), (4, 1))
    durations = np.tile(true, 4) * rng.lognormal(0, noise, len(table))
    names = ("level", "cells", "interval", "interactions")
    return Samples(names, table, durations, np.repeat(np.arange(4), tasks))


def without(samples, name):
    keep = [i for i, other in enumerate(samples.names) if other != name]
    names = tuple(samples.names[i] for i in keep)
    return Samples(names, samples.parameters[:, keep], samples.durations_s, samples.runs)


def linear(samples, terms="m*n*k", **options):
    return LinearModel(terms, **options).fit(samples)


DIRECT = (
    "level + cells + interval + level^2 + cells^2 + interval^2 + level*cells + level*interval"
    " + cells*interval + level*cells*interval"
)


def codes(diagnosis):
    return {finding.code for finding in diagnosis.warnings}


def clean_gemm(seed):
    samples = gemm(seed, repetitions=5, sizes=SIZES[::2])
    return linear(samples), samples


def clean_unrepeated(seed):
    samples = gemm(seed, repetitions=1, sizes=SIZES[:4])
    return linear(samples), samples


def clean_history(seed):
    samples = gemm(seed, sizes=(64, 128, 256))
    return HistoryModel().fit(samples), samples


def clean_m2l(seed):
    samples = m2l(seed, tasks=60)
    return linear(samples, "level + cells + interactions"), samples


def clean_size(kind):
    def make(seed):
        samples = line(seed, np.geomspace(1e4, 1e7, 25), lambda n: 3e-9 * n**0.9)
        return kind().fit(samples), samples

    return make


CLEAN = {
    "gemm": (clean_gemm, 100),
    "m2l": (clean_m2l, 40),
    "unrepeated": (clean_unrepeated, 20),
    "history": (clean_history, 40),
    "power": (clean_size(PowerLaw), 100),
    "bysize": (clean_size(SizeHistory), 40),
}


@pytest.mark.parametrize("name", CLEAN)
def test_a_good_model_of_good_samples_raises_no_alarm(name):
    make, draws = CLEAN[name]
    alarms = [seed for seed in range(draws) if diagnose(*make(seed)).warnings]
    assert len(alarms) <= draws * 0.05


def missing_term(seed):
    samples = gemm(seed, extra=2e-9, repetitions=5)
    return linear(samples), samples


def missing_power(seed):
    samples = line(seed, np.geomspace(16, 1024, 13), lambda n: 1e-6 + 1e-9 * n**2)
    return linear(samples, "n"), samples


def unrecorded_parameter(seed):
    samples = without(m2l(seed), "interactions")
    return linear(samples, "level + cells"), samples


def ignored_column(seed):
    samples = m2l(seed, tasks=150)
    return linear(without(samples, "interactions"), DIRECT), samples


def ignored_column_of_history(seed):
    samples = gemm(seed, sizes=(64, 128, 256))
    return HistoryModel().fit(without(samples, "k")), samples


def bogus_run(seed):
    samples = gemm(seed, factor=lambda table, runs, *_: np.where(runs == 3, 1.15, 1.0))
    return linear(samples), samples


def negative(seed):
    samples = line(seed, np.geomspace(16, 1024, 13), lambda n: 1e-6 + 1e-9 * n**2)
    return linear(samples, "n", weights="none"), samples


def few_repetitions(seed):
    samples = gemm(seed, repetitions=2)
    return HistoryModel().fit(samples), samples


def beyond_the_box(seed):
    samples = gemm(seed, repetitions=3)
    return linear(samples), samples, None, [[128, 128, 128], [128, 128, 1024]]


def noisy_short_tasks(seed):
    def more(table, runs, rng, noise):
        volume = table.prod(axis=1)
        return np.exp(rng.normal(0, 4 * noise, len(table)) * (volume < np.median(volume)))

    samples = gemm(seed, factor=more)
    return linear(samples), samples


def lone_configuration(seed):
    x = [*np.linspace(64, 128, 9), 1000.0]
    samples = line(seed, x, lambda n: (1e-5 + 1e-7 * n) * np.where(n == 1000, 1.5, 1.0))
    return linear(samples, "n"), samples


def nearly_equal_parameters(seed):
    rng = np.random.default_rng(seed)
    m = np.tile([64.0, 96, 128, 192, 256, 320, 384, 448], 3)
    n = np.round(m * (1 + 0.02 * rng.standard_normal(24)))
    k = np.repeat([64.0, 128, 256], 8)
    table = np.repeat(np.column_stack((m, n, k)), 12, axis=0)
    true = 1e-6 + 1e-9 * (table[:, 0] + table[:, 1]) * table[:, 2]
    samples = Samples(("m", "n", "k"), table, true * rng.lognormal(0, 0.05, len(table)))
    return linear(samples, "m*k + n*k"), samples


def cache_step(seed):
    def duration(n):
        return (1e-6 + 1e-9 * n**2) * np.where((n > 300) & (n < 420), 1.4, 1.0)

    samples = line(seed, np.arange(64, 640, 8), duration)
    return linear(samples, "n^2"), samples


def too_many_terms(seed):
    samples = line(seed, range(64, 257, 32), lambda n: 1e-6 + 1e-9 * n**2, repetitions=3)
    return linear(samples, "n + n^2 + n^3 + n^4"), samples


def two_kinds_of_task(seed):
    def kinds(table, runs, rng, noise):
        return np.where(rng.random(len(table)) < 0.5, 1.0, 2.0)

    samples = gemm(seed, factor=kinds)
    return linear(samples), samples


def two_machines(seed):
    def kinds(table, runs, rng, noise):
        return np.where(rng.random(len(table)) < 0.6, 1.0, 1.5)

    samples = gemm(seed, noise=0.05, factor=kinds)
    return linear(samples), samples


def constant_of_a_curve(seed):
    samples = gemm(seed, repetitions=5)
    return ConstantModel(1e-4), samples


PLANTED = {
    missing_term: {"missing-term"},
    missing_power: {"missing-term"},
    unrecorded_parameter: {"missing-parameter"},
    ignored_column: {"missing-parameter"},
    ignored_column_of_history: {"missing-parameter"},
    bogus_run: {"shifted-run"},
    negative: {"negative-predictions"},
    few_repetitions: {"few-repetitions"},
    beyond_the_box: {"extrapolation"},
    noisy_short_tasks: {"uneven-noise"},
    lone_configuration: {"influential"},
    nearly_equal_parameters: {"collinear"},
    cache_step: {"missing-term", "step"},
    too_many_terms: {"few-configurations"},
    two_kinds_of_task: {"wide-spread"},
    two_machines: {"two-peaks"},
    constant_of_a_curve: {"missing-parameter"},
}


@pytest.mark.parametrize("make", PLANTED, ids=lambda make: make.__name__)
def test_a_planted_defect_is_found(make):
    found = [seed for seed in range(10) if codes(diagnose(*make(seed))) & PLANTED[make]]
    assert len(found) >= 9


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
    with pytest.raises(InputError, match="missing: k"):
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
