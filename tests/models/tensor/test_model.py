"""Kernel models of completed tensors: how well they predict, and where they say they cannot."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tasksim.base.errors import InputError, OutOfDomainError
from tasksim.models.registry import from_json
from tasksim.models.samples import Samples
from tasksim.models.tensor.hybrid import HybridModel
from tasksim.models.tensor.model import TensorModel
from tasksim.models.validation.crossvalidation import left_out
from tasksim.models.validation.metrics import mlogq

NAMES = ("m", "n", "k")


def sizes(count, rng, low=32, high=4096):
    """Return whole numbers, spread evenly over their logarithms."""
    shape = (count, np.size(low) if np.size(low) > 1 else 3)
    return np.floor(np.exp(rng.uniform(np.log(low), np.log(high), shape)))


def product_time(table):
    """Return about what a matrix product takes, in seconds: flop, bytes, and a call."""
    m, n, k = table.T
    return 2 * m * n * k / 60e9 + 8 * (m * n + m * k + n * k) / 10e9 + 2e-6


def measured(table, rng, noise=0.03):
    return Samples(NAMES, table, product_time(table) * rng.lognormal(0, noise, len(table)))


def error(model, table):
    return mlogq(model.predict(table), product_time(table))


def error_with_noise(model, count=1000, noise=0.03):
    rng = np.random.default_rng(99)
    table = sizes(count, rng)
    return mlogq(model.predict(table), product_time(table) * rng.lognormal(0, noise, count))


@pytest.mark.parametrize("kind", [TensorModel, HybridModel])
def test_a_matrix_product_from_4096_samples(kind):
    # The noise alone gives 0.024.
    rng = np.random.default_rng(0)
    samples = measured(sizes(4096, rng), rng)
    model = kind(rank=3, cells=16, ridge=1e-5, spacing="log").fit(samples)
    assert error_with_noise(model) <= 0.030


@pytest.mark.slow
@pytest.mark.parametrize("kind", [TensorModel, HybridModel])
def test_a_matrix_product_from_65536_samples(kind):
    rng = np.random.default_rng(0)
    samples = measured(sizes(65_536, rng), rng)
    model = kind(rank=12, cells=32, ridge=1e-5, spacing="log").fit(samples)
    assert error_with_noise(model) <= 0.026
    assert model.report()["coefficients"] < 1200


@pytest.mark.slow
@pytest.mark.parametrize("kind", [TensorModel, lambda: HybridModel(law="power")])
def test_options_that_are_not_given_are_found(kind):
    rng = np.random.default_rng(0)
    samples = measured(sizes(1024, rng), rng)
    model = kind().fit(samples)
    assert error_with_noise(model) <= 0.032
    assert model.rank_ >= 2
    assert model.report()["cross_validated_mlogq"] == pytest.approx(error_with_noise(model), 0.2)


@pytest.mark.parametrize(
    "model",
    [
        TensorModel("positive", rank=1, cells=2, ridge=1e-9),
        TensorModel("positive", rank=1, cells=7, ridge=1e-9),
        HybridModel(rank=0),
        HybridModel(rank=1, cells=5, ridge=1e-5),
    ],
)
def test_products_of_powers_are_exact_on_any_grid_and_beyond(model):
    rng = np.random.default_rng(1)
    table = sizes(400, rng)
    power = lambda t: 3e-9 * t[:, 0] ** 1.5 * t[:, 1] * t[:, 2] ** 0.3  # noqa: E731
    model.fit(Samples(NAMES, table, power(table)))
    assert mlogq(model.predict(table), power(table)) < 1e-6
    assert mlogq(model.predict(4 * table), power(4 * table)) < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("high", [256, 1024])
def test_one_parameter_is_extrapolated_by_4(high):
    rng = np.random.default_rng(2)
    train = sizes(2048, rng, [32, 32, 32], [high, 4096, 4096])
    test = sizes(500, rng, [high, 32, 32], [4 * high, 4096, 4096])
    model = HybridModel(rank=3, cells=12, ridge=1e-5, law="power").fit(measured(train, rng))
    assert error(model, test) <= 0.09
    trend = HybridModel(rank=0, law="power").fit(measured(train, rng))
    assert error(model, test) < error(trend, test)
    assert error(HybridModel().fit(measured(train, rng)), test) < 0.01
    assert not model.inside(test[test[:, 0] > high]).any()


def test_several_parameters_are_extrapolated_by_positive_factors():
    rng = np.random.default_rng(2)
    train = sizes(1024, rng, [32, 32, 32], [1024, 1024, 4096])
    test = sizes(500, rng, [1024, 1024, 32], [4096, 4096, 4096])
    model = TensorModel("positive", rank=1, cells=12, ridge=1e-6).fit(measured(train, rng))
    assert error(model, test) <= 0.08


@pytest.mark.parametrize("rank", [1, 3])
def test_continuations_of_positive_factors_are_multiplied(rank):
    rng = np.random.default_rng(3)
    model = TensorModel("positive", rank=rank, cells=6, ridge=1e-6)
    model.fit(measured(sizes(400, rng), rng))
    ends = np.array([high for _, high in model.domain_.values()])
    asked = np.array([ends, ends * [4, 1, 1], ends * [1, 3, 1], ends * [4, 3, 1]])
    end, first, second, both = model.predict(asked)
    assert both / end == pytest.approx((first / end) * (second / end), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("rank", [1, 3])
def test_the_exponent_is_found_whatever_the_unit(rank):
    rng = np.random.default_rng(0)
    table = np.floor(np.exp(rng.uniform(np.log(8), np.log([256, 4096]), (2000, 2))))
    wide = np.column_stack([np.full(50, 4096.0), np.geomspace(8, 4096, 50)])
    wider = wide * [2, 1]
    logs = []
    for unit in (1e-9, 1e-3):
        time = lambda t: unit * t[:, 0] ** 2 * (t[:, 1] + 5)  # noqa: B023, E731
        model = TensorModel("positive", rank=rank, cells=12, ridge=1e-5)
        model.fit(Samples(("m", "n"), table, time(table)))
        exponents = np.log2(model.predict(wider) / model.predict(wide))
        assert exponents == pytest.approx(2, abs=0.02)
        assert mlogq(model.predict(wide), time(wide)) <= 0.04
        logs.append(np.log(model.predict(wide) / unit))
    assert logs[0] == pytest.approx(logs[1], abs=1e-3)


@pytest.mark.parametrize("mode", ["interpolation", "positive"])
def test_predictions_are_positive_everywhere(mode):
    rng = np.random.default_rng(3)
    model = TensorModel(mode, rank=2, cells=5, ridge=1e-5).fit(measured(sizes(200, rng), rng))
    table = np.concatenate([10 ** rng.uniform(-6, 9, (5000, 3)), np.zeros((1, 3))])
    predicted = model.predict(table)
    assert (np.isfinite(predicted) & (predicted > 0)).all()


def test_what_was_never_measured_is_outside():
    # As in a QR factorisation: m is at least n.
    rng = np.random.default_rng(4)
    table = sizes(2000, rng)
    table = table[table[:, 0] >= table[:, 1]]
    model = HybridModel(rank=2, cells=8, ridge=1e-3, spacing="log").fit(measured(table, rng))
    assert model.inside(table).all()
    asked = [[40, 4000, 500], [60, 2000, 500], [4000, 40, 500], [500, 480, 100]]
    assert model.inside(asked).tolist() == [False, False, True, True]


def test_cells_without_samples_between_others_are_outside_and_yet_predicted():
    rng = np.random.default_rng(5)
    table = sizes(1500, rng)
    table = table[(table[:, 0] < 150) | (table[:, 0] > 900)]
    model = TensorModel(rank=3, cells=12, ridge=1e-5, spacing="log").fit(measured(table, rng))
    between = sizes(200, rng, [300, 64, 64], [450, 2048, 2048])
    assert not model.inside(between).any()
    assert error(model, between) < 0.15


@pytest.mark.slow
@pytest.mark.parametrize("kind", [TensorModel, HybridModel])
def test_the_same_samples_in_any_order_and_unit_give_the_same_model(kind):
    rng = np.random.default_rng(6)
    samples = measured(sizes(50, rng), rng)
    first, second = kind().fit(samples), kind().fit(samples)
    text = json.dumps(first.to_json())
    assert json.dumps(second.to_json()) == text
    shuffled = kind().fit(samples.select(rng.permutation(50)))
    assert json.dumps(shuffled.to_json()) == text
    slow = kind().fit(Samples(NAMES, samples.parameters, 1000 * samples.durations_s))
    plain = first.predict(samples.parameters)
    assert slow.predict(samples.parameters) == pytest.approx(1000 * plain, rel=1e-4)


@pytest.mark.slow
def test_few_samples_are_not_overfitted():
    for seed in range(2):
        rng = np.random.default_rng(seed)
        samples = measured(sizes(64, rng), rng, 0.1)
        errors = [
            left_out(model, samples, folds=4, seed=seed + 100).errors(samples).mean()
            for model in (HybridModel(), HybridModel(rank=0))
        ]
        assert errors[0] <= 1.05 * errors[1]


def test_categories_are_levels_in_any_numbering():
    rng = np.random.default_rng(7)
    size, layout = sizes(600, rng)[:, 0], rng.integers(0, 3, 600).astype(float)
    durations = 1e-9 * size**1.2 * np.array([1.0, 3.0, 2.0])[layout.astype(int)]
    predicted = []
    for numbers in ([0.0, 1.0, 2.0], [70.0, 5.0, 11.0]):
        table = np.column_stack([size, np.array(numbers)[layout.astype(int)]])
        model = HybridModel(rank=1, cells=4, ridge=1e-3, spacing={"layout": "categorical"})
        model.fit(Samples(("n", "layout"), table, durations))
        predicted.append(model.predict(table))
        assert predicted[-1] == pytest.approx(durations, rel=1e-4)
        assert model.inside([[100.0, numbers[1]], [100.0, 3.5]]).tolist() == [True, False]
        with pytest.raises(OutOfDomainError, match=r"layout=3\.5: no such category"):
            model.predict([[100.0, 3.5]])
    assert predicted[0] == pytest.approx(predicted[1], rel=1e-6)


def test_the_report_says_whether_grid_or_rank_is_too_small():
    rng = np.random.default_rng(8)
    samples = measured(sizes(3000, rng), rng, 1e-3)

    def report(**options):
        return TensorModel(ridge=1e-6, spacing="log", **options).fit(samples).report()

    coarse, fine = report(rank=4, cells=3), report(rank=4, cells=16)
    assert fine["quadrature_error"] < coarse["quadrature_error"] / 4
    low, high = report(rank=1, cells=10), report(rank=4, cells=10)
    assert high["low_rank_error"] < low["low_rank_error"] / 4
    assert low["density"] == high["density"]
    assert 0.5 < low["density"] <= 1
    assert (coarse["rank"], coarse["cells"]) == (4, {"m": 3, "n": 3, "k": 3})
    assert coarse["extrapolates_badly"] == ["m", "n", "k"]
    assert fine["extrapolates_badly"] == []


def test_the_mean_of_noisy_single_samples_is_predicted():
    rng = np.random.default_rng(9)
    samples = measured(sizes(3000, rng), rng, 0.4)
    model = HybridModel(rank=0).fit(samples)
    ratio = samples.durations_s / model.predict(samples.parameters)
    assert ratio.mean() == pytest.approx(1, abs=0.02)
    assert np.exp(np.log(ratio).mean()) < 0.95


def test_a_kernel_without_parameters_has_its_mean():
    samples = Samples((), np.empty((3, 0)), [1.0, 2.0, 3.0])
    for model in (TensorModel(), HybridModel()):
        assert model.fit(samples).predict(np.empty((2, 0))) == pytest.approx([2, 2])
        assert from_json(model.to_json()).predict(np.empty((1, 0))) == pytest.approx([2])


def test_cells_can_be_given_per_parameter():
    rng = np.random.default_rng(10)
    samples = measured(sizes(300, rng), rng)
    model = TensorModel(rank=2, ridge=1e-4, cells={"m": 5, "n": 3}).fit(samples)
    assert model.cells_ == {"m": 5, "n": 3, "k": 16}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rank": 0}, r"rank: got 0 \(int\); legal: a whole number from 1"),
        ({"rank": 1.5}, r"rank: got 1.5 \(float\); legal: a whole number from 1"),
        ({"cells": 0}, r"cells: got 0 \(int\); legal: a whole number from 1 to 4096"),
        ({"cells": {"q": 3}}, r"unknown parameter 'q' \(known: m, n, k\)"),
        ({"spacing": {"mm": "log"}}, "unknown parameter 'mm', did you mean 'm'"),
        ({"spacing": "loog"}, "unknown spacing of parameter 'm' 'loog', did you mean 'log'"),
        ({"ridge": -1.0}, r"ridge: got -1.0 \(float\); legal: a number above 0"),
        ({"folds": 1}, r"folds: got 1 \(int\); legal: a whole number from 2"),
        ({"extrapolation": "lines"}, r"extrapolation: got 'lines' \(str\), did you mean 'line'"),
        ({"mode": "positiv"}, r"mode: got 'positiv' \(str\), did you mean 'positive'"),
    ],
)
def test_options_that_are_none(options, message):
    samples = measured(sizes(20, np.random.default_rng(0)), np.random.default_rng(0))
    with pytest.raises(InputError, match=message):
        TensorModel(**options).fit(samples)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"axes": []}, "axes: expected one axis per parameter"),
        ({"factors": [[[1.0]]]}, "factors: expected a list of 3"),
        ({"factors": [[[1.0]], [[1.0]], [[1.0]]]}, r"factors\[0\]: expected a list of 2"),
        ({"base": {"kind": "cubic"}}, r"base\.kind: expected 'power' or 'products'"),
        ({"base": {"kind": "power", "effects": [[1.0]]}}, r"base\.effects: expected a list of 3"),
        (
            {
                "base": {
                    "kind": "products",
                    "effects": [[], [], []],
                    "exponents": [[1, 1, 0.5]],
                    "coefficients": [1.0],
                }
            },
            r"base\.exponents: expected whole numbers",
        ),
        (
            {
                "base": {
                    "kind": "products",
                    "effects": [[], [], []],
                    "exponents": [[1, 1, 0]],
                    "coefficients": [-1.0],
                }
            },
            r"base\.coefficients: expected positive numbers",
        ),
        ({"beyond": "on"}, "beyond: expected 'line' or 'spline' or 'hold'"),
        ({"smear": 0}, "smear: expected a number larger than 0"),
        ({"support": {"rows": ["11", "11", "12"], "pairs": []}}, r"support.rows\[2\]: expected 2"),
        ({"support": {"rows": ["11", "11", "11"], "pairs": []}}, "support.pairs: expected a list"),
    ],
)
def test_files_that_are_wrong(change, message):
    rng = np.random.default_rng(0)
    model = TensorModel(rank=1, cells=2, ridge=1e-3).fit(measured(sizes(50, rng), rng))
    with pytest.raises(InputError, match=message):
        from_json({**model.to_json(), **change})


def test_a_search_that_no_part_repeats_has_more_operations():
    model = TensorModel(budget_s=0.5)
    assert model._search_budget_s(256) == 0.5
    assert model._search_budget_s(257) == 9.0
    assert TensorModel(budget_s=10.0)._search_budget_s(5000) == 30.0
    assert TensorModel(budget_s=50.0)._search_budget_s(5000) == 50.0


def test_the_report_says_how_a_tensor_was_completed():
    table = 2.0 ** np.random.default_rng(0).uniform(4, 10, (60, 2))
    samples = Samples(("m", "n"), table, 1e-9 * table.prod(axis=1) + 1e-6 * table[:, 0] ** 1.5)
    options = {"rank": 1, "cells": 3, "ridge": 1e-4}
    assert TensorModel(**options).fit(samples).report()["method"] == "alternating least squares"
    positive = TensorModel("positive", **options).fit(samples)
    assert positive.report()["method"] == "positive Newton method"
