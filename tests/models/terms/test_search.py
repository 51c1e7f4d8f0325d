from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tiers import LONG

from tasksim.base.errors import InputError
from tasksim.models.conformance import parametrize_with_checks
from tasksim.models.kinds.linear import LinearModel
from tasksim.models.quantiles import group_means
from tasksim.models.registry import from_json
from tasksim.models.samples import Samples
from tasksim.models.terms.candidates import Lattice, find_candidates, lattice_terms
from tasksim.models.terms.formulas import parse_terms
from tasksim.models.terms.search import (
    Measurements,
    Normal,
    additions,
    best_subsets,
    coefficients,
    error_of_terms,
    parsimonious,
    search_terms,
)
from tasksim.models.validation.crossvalidation import left_out

STARPU = Path(__file__).parents[2] / ".." / "shared/data/starpu/sampling/codelets/tmp/mlr_init.out"
RATIOS = (
    "n/p + n^2/p + m*n/p + n/(p*t) + 1/p + n/p^0.5 + n^2/p^0.5 + log2(p) + n*log2(p) + n*log2(n)/p "
    "+ p*log2(p) + n*log2(p)/p + p + m*n*k/p + m*log2(p) + n*log2(n) + m*n + m + t*log2(t) + n/t "
    "+ m*k/(p*t)"
)
POOL = Lattice(exponents=(1.0, 2.0, 3.0), logarithms=False, order=3, degree=4)


@pytest.fixture(scope="module")
def mlr_init():
    """Return StarPU's samples for the kernel of its example of a multiple regression."""
    if not STARPU.exists():
        pytest.skip("StarPU's sample file mlr_init.out is not beside the checkout (folder shared)")
    table = np.loadtxt(STARPU, delimiter=",", skiprows=1)
    return Samples(("M", "N", "K"), table[:, 1:], table[:, 0] * 1e-6)


def measured(samples):
    rows, group = samples.configurations()
    return Measurements(rows, group_means(samples.durations_s, group), np.bincount(group))


def hidden_samples(seed, count=300, noise=0.05, repetitions=3):
    """Durations of 1 to 4 terms of four parameters, each of which matters; a fifth does not."""
    rng = np.random.default_rng(seed)
    names = ("a", "b", "c", "d", "e")
    table = np.round(2 ** rng.uniform(3, 9, (count, 5)))
    pool = lattice_terms(names[:4], POOL)
    hidden = [pool[i] for i in rng.choice(len(pool), 1 + seed % 4, replace=False)]
    values = np.column_stack([term.evaluate(names, table) for term in hidden])
    exact = (values / np.exp(np.log(values).mean(axis=0))).sum(axis=1) * 1e-4 + 2e-5
    factor = 1 + noise * rng.standard_normal(count * repetitions)
    durations = np.repeat(exact, repetitions) * factor
    return set(map(str, hidden)), Samples(names, np.repeat(table, repetitions, axis=0), durations)


def hidden_ratios(seed, count=300, noise=0.05, repetitions=3):
    """Durations of 1 to 4 terms with ratios and logarithms of five parameters, not of a sixth."""
    rng = np.random.default_rng(seed)
    names = ("n", "m", "k", "p", "t", "e")
    table = np.round(2 ** rng.uniform(3, 9, (count, 6)))
    table[:, 3:5] = np.round(2 ** rng.uniform(0, 7, (count, 2)))
    pool = parse_terms(RATIOS, names).terms[1:]
    hidden = [pool[i] for i in rng.choice(len(pool), 1 + seed % 4, replace=False)]
    values = np.column_stack([term.evaluate(names, table) for term in hidden])
    # A logarithm of 1 is 0.
    logs = np.log(values, out=np.zeros_like(values), where=values > 0)
    exact = (values / np.exp(logs.mean(axis=0))).sum(axis=1) * 1e-4 + 2e-5
    factor = 1 + noise * rng.standard_normal(count * repetitions)
    durations = np.repeat(exact, repetitions) * factor
    return set(map(str, hidden)), Samples(names, np.repeat(table, repetitions, axis=0), durations)


def found_exactly(seed, count=300, draw=hidden_samples):
    hidden, samples = draw(seed, count)
    few = measured(samples)
    candidates = find_candidates(samples.names, few.rows, durations_s=few.durations_s)
    found = search_terms(few, candidates)
    return set(map(str, found.terms.terms)) - {"1"} == hidden


def grid(function, sizes=(4, 8, 16, 48, 128, 512), noise=0.0, names=("m", "n", "k")):
    table = np.array(np.meshgrid(*[sizes] * len(names))).reshape(len(names), -1).T.astype(float)
    factor = 1 + noise * np.random.default_rng(1).standard_normal(len(table))
    return Samples(tuple(names), table, function(*table.T) * factor)


def searched(samples, **options):
    return LinearModel("auto", **options).fit(samples)


def test_hidden_terms_are_found():
    assert [found_exactly(seed, count=150) for seed in range(4)] == [True] * 4


@pytest.mark.slow
@pytest.mark.parametrize("draw", [hidden_samples, hidden_ratios])
def test_hidden_terms_are_found_in_nine_of_ten_draws(draw):
    found = [found_exactly(seed, draw=draw) for seed in range(100, 140 if LONG else 110)]
    assert found[:4] == [True] * 4
    assert sum(found) >= 0.9 * len(found)


@pytest.mark.parametrize(
    ("function", "terms"),
    [
        (lambda n, p: 1e-8 * n / p + 1e-6 * np.log2(p), {"n/p", "log2(p)"}),
        (lambda n, p: 2e-9 * n * np.log2(n) / p + 1e-7 * p, {"n*log2(n)/p", "p"}),
        (lambda n, p: 1e-11 * n**2 / p + 1e-7 * n / p**0.5, {"n^2/p", "n/p^0.5"}),
        (lambda n, p: 1e-9 * n + 1e-3 / p**2, {"n", "1/p^2"}),
    ],
)
def test_laws_of_strong_scaling(function, terms):
    table = np.array([[n, p] for n in 2.0 ** np.arange(10, 18) for p in 2.0 ** np.arange(7)])
    noise = np.random.default_rng(0).lognormal(0.0, 0.01, len(table))
    model = searched(Samples(("n", "p"), table, function(*table.T) * noise))
    assert set(model.terms_) - {"1"} == terms
    beyond = np.array([[2.0**20, 256.0]])
    assert model.predict(beyond) == pytest.approx(function(*beyond.T), rel=0.1)
    again = from_json(json.loads(json.dumps(model.to_json())))
    assert again.predict(beyond).tolist() == model.predict(beyond).tolist()


def test_three_sizes_of_nine_parameters():
    rng = np.random.default_rng(0)
    table = np.round(2 ** rng.uniform(3, 9, (300, 9)))
    exact = 1e-9 * table[:, 1] * table[:, 4] * table[:, 7] + 1e-6 * table[:, 2]
    samples = Samples(tuple("abcdefghi"), table, exact * rng.lognormal(0.0, 0.05, 300))
    assert set(searched(samples).terms_) - {"1"} == {"b*e*h", "c"}


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_all_four_terms_of_a_matrix_product(noise):
    samples = grid(
        lambda m, n, k: 1e-10 * m * n * k + 2e-9 * m * n + 3e-9 * m * k + 4e-9 * n * k, noise=noise
    )
    model = searched(samples)
    assert set(model.terms_) - {"1"} == {"m*n*k", "m*n", "m*k", "n*k"}
    assert model.report()["mlogq"] < 1e-6 + noise


def test_logarithms_and_broken_exponents():
    samples = grid(lambda n, b: 1e-9 * b * n * np.log2(n) + 1e-7 * n**0.5, noise=0.02, names="nb")
    assert set(searched(samples).terms_) - {"1"} == {"n*log2(n)*b", "n^0.5"}


def test_levels_of_a_categorical_parameter():
    def duration(m, n, layout):
        return np.where(layout == 2, 3e-9, 1e-9) * m * n + 1e-6

    table = np.array(
        [[m, n, c] for m in range(8, 80, 8) for n in (8, 20, 50, 90, 200) for c in (1, 2)]
    )
    noise = 1 + 0.03 * np.random.default_rng(2).standard_normal(len(table))
    samples = Samples(("m", "n", "layout"), table, duration(*table.T) * noise)
    model = searched(samples, categorical=("layout",))
    exact = duration(*table.T)
    assert np.abs(np.log(model.predict(table) / exact)).max() < 0.05
    assert any("is(layout, " in term for term in model.terms_)
    assert model.report()["cv_mlogq"] < 0.04
    again = from_json(json.loads(json.dumps(model.to_json())))
    assert (again.predict(table) == model.predict(table)).all()


def test_negative_coefficients_only_where_they_are_allowed():
    samples = grid(lambda m, n: 1e-8 * m * n - 2e-8 * n + 1e-7, noise=0.01, names="mn")
    assert (searched(samples).coef_ >= 0).all()
    free = searched(samples, positive=False, candidates="m*n + n + m + m^2")
    assert set(free.terms_) == {"1", "m*n", "n"}
    assert free.coef_[free.terms_.index("n")] < 0


def test_only_given_candidates_are_chosen_from():
    samples = grid(lambda m, n, k: 1e-9 * m * n * k + 1e-6, noise=0.02)
    assert searched(samples, candidates="m*n + m*n*k + k").terms_ == ("1", "m*n*k")
    assert searched(samples, candidates="auto + m^5").terms_ == ("1", "m*n*k")


def test_given_terms_of_starpus_example_unweighted_are_ordinary_least_squares(mlr_init):
    model = LinearModel("M^2*N + N^3*K", weights="none", fence=None).fit(mlr_init)
    M, N, K = mlr_init.parameters.T
    X = np.column_stack([np.ones(len(M)), M**2 * N, N**3 * K])
    scale = np.linalg.norm(X, axis=0)
    expected = np.linalg.lstsq(X / scale, mlr_init.durations_s, rcond=None)[0] / scale
    assert model.coef_ == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("weights", ["relative", "none"])
def test_starpus_example_does_not_tell_its_second_term(mlr_init, weights):
    model = searched(mlr_init, weights=weights)
    report = model.report()
    assert model.terms_[:2] == ("1", "N^3*K")
    others = [a for a in report["alternatives"] if a["term"] != "N^3*K"]
    listed = {entry["term"] for a in others for entry in a["instead"]} | set(model.terms_)
    assert {"M*N", "M^2*N", "M*N^2*K"} <= listed
    assert not [a for a in report["alternatives"] if a["term"] == "N^3*K"]
    bound = report["cv_mlogq"] + report["cv_standard_error"]
    assert all(entry["cv_mlogq"] <= bound for a in others for entry in a["instead"])


def test_identifiable_terms_have_no_alternatives():
    model = searched(grid(lambda m, n, k: 1e-9 * m * n * k + 1e-6, noise=0.05))
    assert model.terms_ == ("1", "m*n*k")
    assert model.report()["alternatives"] == []


def test_the_found_model_is_an_ordinary_one():
    samples = hidden_samples(1, count=80)[1]
    model = searched(samples)
    given = LinearModel(" + ".join(model.terms_)).fit(samples)
    assert given.coef_ == pytest.approx(model.coef_, rel=1e-12)
    again = from_json(json.loads(json.dumps(model.to_json())))
    assert again.terms_ == model.terms_
    assert again.report() == model.report()
    assert (searched(samples).coef_ == model.coef_).all()


def test_report_of_a_search():
    model = searched(hidden_samples(1)[1])
    report = model.report()
    for entry, low_high in zip(report["terms"], model.intervals_, strict=True):
        assert entry["interval"] == pytest.approx(low_high)
        half = (low_high[1] - low_high[0]) / 2
        assert 1.9 < half / entry["standard_error"] < 2.0
    assert report["formula"] == model.formula()
    assert report["rsquared"] > report["rsquared_adj"] > 0.98
    assert 0.02 < report["cv_mlogq"] < 0.04
    assert report["cv_standard_error"] < 0.003
    assert report["cv_mlogq_by_terms"][2] == report["cv_mlogq"]


def test_variance_inflation_by_hand():
    # Three points of x and y whose correlation is 0.5: 1 / (1 - 0.25).
    x, y = np.array([0, 1, 2, 1.0]), np.array([1, 0, 2, 1.0])
    table = np.column_stack([x, y])
    samples = Samples(("x", "y"), table, [1.0, 2.0, 3.0, 2.2])
    report = LinearModel("x + y", weights="none").fit(samples).report()
    correlation = np.corrcoef(x, y)[0, 1]
    vif = [entry["vif"] for entry in report["terms"]]
    assert vif == [None, *[pytest.approx(1 / (1 - correlation**2))] * 2]


def test_held_out_errors_are_those_of_refitted_models():
    # Unweighted, and configurations measured equally often: the same least squares.
    samples = hidden_samples(2, count=400, noise=0.02)[1]
    terms = parse_terms("a*b + c*d + a*c^2 + d^3", samples.names)
    few = measured(samples)
    mlogq, error = error_of_terms(
        Measurements(few.rows, few.durations_s, few.counts, relative=False), terms
    )
    model = LinearModel("a*b + c*d + a*c^2 + d^3", weights="none", fence=None)
    slow = left_out(model, samples).errors(samples)
    assert mlogq == pytest.approx(slow.mean(), rel=0.02)
    assert error == pytest.approx(slow.std(ddof=1) / np.sqrt(len(slow)), rel=0.02)


def test_the_fewest_terms_within_one_standard_error():
    errors = np.array([[1.0, 1.2, 1.1], [0.31, 0.31, 0.4], [0.2, 0.3, 0.4], [0.2, 0.3, 0.5]])
    assert parsimonious(errors) == 1
    errors[1] += 0.1
    assert parsimonious(errors) == 2


def test_additions_are_least_squares():
    rng = np.random.default_rng(0)
    X, y = rng.random((30, 6)), rng.random(30)
    normal = replace(Normal.of(X, y), free=(0,))
    found = additions(normal, (0, 2))
    for column in (1, 3, 4, 5):
        expected = np.linalg.lstsq(X[:, [0, 2, column]], y, rcond=None)[0]
        assert [*found.others[:, column], found.added[column]] == pytest.approx(expected)
    assert np.isneginf(found.gain[[0, 2]]).all()


def test_best_subsets_are_the_best_of_all():
    from itertools import combinations

    rng = np.random.default_rng(1)
    X = rng.random((40, 8))
    y = X[:, 1] + 0.7 * X[:, 4] + 0.4 * X[:, 6] + 0.1 * rng.standard_normal(40)
    normal = replace(Normal.of(X, y), free=(0,))

    def explained(subset):
        index = [0, *subset]
        return normal.right[index] @ coefficients(normal, index)

    for count, subset in enumerate(best_subsets(normal, 4)):
        best = max(combinations(range(1, 8), count), key=explained)
        assert explained(subset) == pytest.approx(explained(best))


def test_a_parameter_that_never_changes_is_noted():
    samples = grid(lambda m, n: 1e-9 * m * n**2 + 1e-7, noise=0.02, names="mn")
    table = np.column_stack([samples.parameters, np.full(len(samples), 7.0)])
    model = searched(Samples(("m", "n", "c"), table, samples.durations_s))
    assert model.terms_ == ("1", "m*n^2")
    assert "c is always 7: its effect is unknown" in model.report()["notes"]


def test_parameters_that_vary_together_are_alternatives():
    n = np.arange(4.0, 100.0)
    noise = 1 + 0.02 * np.random.default_rng(0).standard_normal(len(n))
    model = searched(Samples(("m", "n"), np.column_stack([n, n]), (1e-9 * n**3 + 1e-7) * noise))
    report = model.report()
    assert any("m and n vary together" in note for note in report["notes"])
    (alternative,) = report["alternatives"]
    names = {model.terms_[1], *(entry["term"] for entry in alternative["instead"])}
    assert {"m^3", "n^3", "m*n^2", "m^2*n"} <= names


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[1.0]], "at least 4 configurations .*, got 1: measure more, or name the terms"),
        ([[1.0]] * 9, "at least 4 configurations .*, got 1"),
        ([[1.0], [2.0], [3.0]] * 3, "at least 4 configurations .*, got 3"),
    ],
)
def test_too_few_configurations_to_search(rows, message):
    with pytest.raises(InputError, match=message):
        searched(Samples(("n",), rows, np.ones(len(rows))))


@pytest.mark.parametrize("count", [4, 5, 6])
def test_few_configurations_get_few_terms(count):
    n = np.arange(1.0, count + 1)
    model = searched(Samples(("n",), n[:, None], 1e-6 * n))
    assert len(model.terms_) < count
    assert model.predict([[2.0]])[0] == pytest.approx(2e-6, rel=0.1)


def test_a_level_that_one_configuration_has():
    n = np.arange(1.0, 31.0)
    layout = np.where(n == 17, 1.0, 0.0)
    durations = (1e-6 + 1e-7 * n**2) * np.where(layout == 1, 3.0, 1.0)
    samples = Samples(("n", "layout"), np.column_stack([n, layout]), durations)
    model = searched(samples, categorical=("layout",))
    assert "n^2" in model.terms_
    given = LinearModel("n^2 + is(layout, 1)").fit(samples)
    assert given.predict(samples.parameters) == pytest.approx(durations)
    # Whether leaving it out is survived depends on the fold that it is in; it must not fail.
    assert 0 <= given.report()["cv_mlogq"] < 1


def test_terms_that_a_fold_cannot_tell_apart_are_judged_all_the_same():
    table = [[1, 1], [2, 2], [3, 3], [4, 4], [5, 9]]
    report = (
        LinearModel("m + n").fit(Samples(("m", "n"), table, [1.0, 2.0, 3.0, 4.0, 9.0])).report()
    )
    assert np.isfinite(report["cv_mlogq"])
    few = LinearModel("m").fit(Samples(("m",), [[1], [2], [2]], [1.0, 2.0, 2.1])).report()
    assert few["cv_mlogq"] is None


def test_a_kernel_of_no_parameters_or_constant_duration():
    with pytest.raises(InputError, match="at least 4 configurations"):
        searched(Samples((), np.empty((20, 0)), np.ones(20)))
    n = np.arange(1.0, 30.0)[:, None]
    model = searched(Samples(("n",), n, np.full(29, 0.5)))
    assert model.terms_ == ("1",)
    assert model.predict([[7.0]])[0] == pytest.approx(0.5)


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_durations_that_are_none(value):
    with pytest.raises(InputError, match=r"sample 1: duration .* finite and positive"):
        Samples(("n",), [[1.0], [2.0]], [1.0, value])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"most_terms": 0}, "most_terms must be a whole number of at least 1, got 0"),
        ({"categorical": ("q",)}, "unknown parameter 'q'"),
        ({"candidates": "m*q"}, "unknown parameter 'q'"),
    ],
)
def test_options_that_make_no_sense(options, message):
    with pytest.raises(InputError, match=message):
        searched(grid(lambda m, n, k: 1e-9 * m * n * k + 1e-6), **options)


def test_repetitions_by_the_hundred_thousand():
    rng = np.random.default_rng(0)
    table = rng.integers(1, 9, (200_000, 3)).astype(float) * 32
    durations = (1e-10 * table.prod(axis=1) + 1e-6) * (1 + 0.05 * rng.standard_normal(len(table)))
    assert searched(Samples(("m", "n", "k"), table, durations)).terms_ == ("1", "m*n*k")


@pytest.mark.slow
def test_a_million_samples_all_different():
    import resource

    rng = np.random.default_rng(0)
    table = rng.integers(8, 4096, (1_000_000, 5)).astype(float)
    exact = 1e-10 * table[:, :3].prod(axis=1) + 1e-8 * table[:, 0] * table[:, 3]
    durations = exact * (1 + 0.05 * rng.standard_normal(len(table)))
    samples = Samples(("a", "b", "c", "d", "e"), table, durations)
    model = searched(samples)
    assert set(model.terms_) - {"1"} == {"a*b*c", "a*d"}
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 2 * 2**20  # KiB


@parametrize_with_checks(
    [
        lambda: LinearModel("auto"),
        lambda: LinearModel("auto", weights="none", candidates="m*n*k + m*n", categorical=("n",)),
        lambda: LinearModel("auto", weights="huber", positive=False, most_terms=2),
    ]
)
def test_the_rules_of_every_kind_of_model(model, check):
    check(model)


def test_settled_terms_are_not_searched_for_again(monkeypatch):
    rng = np.random.default_rng(0)
    table = rng.uniform(4.0, 400.0, (60, 2))
    durations = 1e-5 + 2e-9 * table[:, 0] * table[:, 1]
    samples = Samples(("m", "n"), table, durations)
    found = LinearModel("auto").fit(samples)
    settled = found.settled()
    assert found.terms == "auto"
    assert settled.terms == "1 + m*n"
    assert settled.predict(table).tolist() == found.predict(table).tolist()

    def refuse(*_, **__):
        raise AssertionError("searched")

    monkeypatch.setattr("tasksim.models.kinds.linear.search_terms", refuse)
    settled.fit(Samples(("m", "n"), table, 2 * durations))
    assert settled.terms_ == found.terms_ == ("1", "m*n")
    assert settled.coef_ == pytest.approx(2 * found.coef_, rel=1e-6)
    with pytest.raises(AssertionError, match="searched"):
        found.fit(samples)
