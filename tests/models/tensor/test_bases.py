"""Laws that tensors correct: sums of products, power laws, and the choice between them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tasksim.base.errors import InputError
from tasksim.models.samples import Samples
from tasksim.models.tensor.bases import choose_base, fit_products, fit_trend
from tasksim.models.tensor.grid import make_axis
from tasksim.models.tensor.hybrid import HybridModel


def drawn(count, low, high, seed=0):
    rng = np.random.default_rng(seed)
    return np.exp(rng.uniform(np.log(low), np.log(high), (count, len(low))))


def axes_of(table, **spacing):
    names = "mnkp"[: table.shape[1]]
    return tuple(
        make_axis(name, table[:, mode], spacing.get(name, "automatic"), 4)
        for mode, name in enumerate(names)
    )


def products(table, durations_s, **spacing):
    axes = axes_of(table, **spacing)
    values = np.log(durations_s)
    return axes, fit_products(axes, table, values, fit_trend(axes, table, values))


def terms(base):
    rows = map(tuple, base.exponents.tolist())
    return dict(zip(rows, base.coefficients.tolist(), strict=True))


def gemm_s(t):
    m, n, k = t.T
    return 2e-6 + 4e-11 * m * n * k + 1e-9 * (m * n + m * k + n * k)


def test_flop_and_bytes_of_a_matrix_product_are_found():
    table = drawn(200, [32, 32, 32], [1024, 1024, 1024])
    axes, base = products(table, gemm_s(table))
    found = {
        tuple(row): c for row, c in zip(base.exponents.tolist(), base.coefficients, strict=True)
    }
    assert found[1, 1, 1] == pytest.approx(4e-11, rel=1e-6)
    assert found[1, 1, 0] == pytest.approx(1e-9, rel=1e-4)
    far = drawn(50, [4096, 4096, 4096], [65_536, 65_536, 65_536], seed=1)
    assert np.exp(base.values(axes, far)) == pytest.approx(gemm_s(far), rel=1e-6)


def test_exponents_are_those_that_the_power_law_asks_for():
    table = drawn(200, [32, 32], [1024, 1024])
    _, base = products(table, 1e-6 + 2e-10 * table[:, 0] * table[:, 1] ** 2)
    found = terms(base)
    assert (found[0, 0], found[1, 2]) == pytest.approx((1e-6, 2e-10), rel=1e-6)
    assert base.exponents.max() == 2


def test_durations_that_fall_with_the_number_of_workers():
    table = drawn(200, [1000, 1], [100_000, 64])
    _, base = products(table, 1e-4 + 3e-8 * table[:, 0] / table[:, 1])
    assert base.exponents.tolist() == [[0, 0], [1, -1]]
    assert base.coefficients == pytest.approx([1e-4, 3e-8], rel=1e-6)


def test_categories_are_factors():
    table = np.column_stack([drawn(200, [32], [1024])[:, 0], np.arange(200) % 3])
    slow = np.array([1.0, 2.0, 5.0])[table[:, 1].astype(int)]
    axes, base = products(table, slow * 1e-9 * table[:, 0], n="categorical")
    again = base.values(axes, table)
    assert np.exp(again) == pytest.approx(slow * 1e-9 * table[:, 0], rel=1e-6)


def test_zero_is_no_reason_for_infinity():
    table = drawn(50, [1, 1], [64, 64])
    axes, base = products(table, 1e-6 * table[:, 0] / table[:, 1])
    assert np.isfinite(base.values(axes, np.array([[0.0, 0.0], [1.0, 0.0]]))).all()


@pytest.mark.parametrize(
    ("seconds", "kind"),
    [
        (gemm_s, "products"),
        (lambda t: 1e-9 * t[:, 0] ** 1.5 * t[:, 1] ** 0.5 * t[:, 2] ** -0.4, "power"),
    ],
)
def test_the_nearer_law_is_chosen(seconds, kind):
    table = drawn(100, [32, 32, 32], [1024, 1024, 1024])
    rng = np.random.default_rng(0)
    values = np.log(seconds(table) * rng.lognormal(0, 0.02, len(table)))
    assert choose_base(axes_of(table), table, values, 5, 0) == kind


def test_many_parameters_have_fewer_products_together():
    rng = np.random.default_rng(0)
    table = np.exp(rng.uniform(0, 3, (300, 12)))
    axes = tuple(make_axis(f"p{i}", table[:, i], "automatic", 4) for i in range(12))
    values = np.log(table[:, 0] * table[:, 1] + table[:, 2])
    base = fit_products(axes, table, values, fit_trend(axes, table, values))
    assert (np.count_nonzero(base.exponents, axis=1) <= 2).all()
    assert base.values(axes, table) == pytest.approx(values, abs=1e-6)


def test_a_law_that_there_is_not():
    samples = Samples(("n",), np.array([[1.0], [2.0]]), np.array([1.0, 2.0]))
    with pytest.raises(InputError, match=r"law: got 'powers' \(str\), did you mean 'power'"):
        HybridModel(law="powers").fit(samples)


@pytest.mark.parametrize("law", ["power", "products"])
def test_files_keep_every_bit(law):
    table = drawn(60, [32, 32, 32], [1024, 1024, 1024])
    model = HybridModel(law=law).fit(Samples(("m", "n", "k"), table, gemm_s(table)))
    again = HybridModel.from_json(json.loads(json.dumps(model.to_json())))
    far = 8 * table
    assert again.predict(far).tolist() == model.predict(far).tolist()
    assert json.dumps(again.to_json()) == json.dumps(model.to_json())
    assert model.report()["law"] == law


def test_least_squares_that_go_round_in_circles_still_end(monkeypatch):
    def endless(*_):
        raise RuntimeError("Maximum number of iterations reached.")

    monkeypatch.setattr("scipy.optimize.nnls", endless)
    table = drawn(60, [32, 32], [1024, 1024])
    axes, base = products(table, 1e-9 * table[:, 0] * table[:, 1])
    found = np.exp(base.values(axes, table))
    np.testing.assert_allclose(found, 1e-9 * table[:, 0] * table[:, 1], rtol=1e-2)


@pytest.mark.parametrize("difference", [1e-2, 1e-3, 1e-4, 1e-6, 0])
def test_parameters_that_are_nearly_proportional_share_their_exponents(difference):
    # Least squares would give exponents of 18 and -16 for a difference of 1e-4.
    rng = np.random.default_rng(0)
    m, k = np.exp(rng.uniform(np.log(32), np.log(4096), (2, 60)))
    table = np.column_stack([m, m * np.exp(difference * rng.normal(size=60)), k])
    values = np.log(1e-9 * table.prod(axis=1)) + rng.normal(0, 0.1, 60)
    trend = fit_trend(axes_of(table), table, values)
    assert [float(effect[0]) for effect in trend.effects] == pytest.approx([1, 1, 1], abs=0.3)


def test_exponents_that_samples_determine_are_those_of_least_squares():
    rng = np.random.default_rng(0)
    table = drawn(60, [32, 32, 32], [1024, 64, 1024])
    values = np.log(1e-9 * table.prod(axis=1)) + rng.normal(0, 0.1, 60)
    trend = fit_trend(axes_of(table), table, values)
    design = np.column_stack([np.ones(60), np.log(table)])
    exact = np.linalg.lstsq(design, values, rcond=None)[0]
    assert [float(effect[0]) for effect in trend.effects] == pytest.approx(exact[1:], rel=1e-7)


def test_few_samples_of_many_parameters_give_exponents_that_are_plausible():
    # Least squares would pass through all ten, with an exponent of 35 for one seed.
    for seed in range(20):
        rng = np.random.default_rng(seed)
        table = drawn(10, [32] * 9, [1024] * 9, seed)
        axes = tuple(make_axis(f"p{i}", column, "log", 4) for i, column in enumerate(table.T))
        trend = fit_trend(axes, table, np.log(table) @ np.ones(9) + rng.normal(0, 0.3, 10))
        assert max(abs(float(effect[0])) for effect in trend.effects) < 4
