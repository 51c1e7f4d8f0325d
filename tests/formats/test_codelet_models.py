"""Codelets as kernel models, and kernel models as codelets."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasksim.base.errors import InputError
from tasksim.formats.samples.starpufiles import read_starpu_out
from tasksim.formats.starpu.codelet_file import (
    Codelet,
    Combination,
    HistoryEntry,
    Implementation,
    ModelledDevice,
    Regression,
    read_codelet,
    write_codelet,
)
from tasksim.formats.starpu.codelet_models import from_models, to_models
from tasksim.models.kinds.bysize import SizeEntry, SizeHistory
from tasksim.models.kinds.given import ConstantModel
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.kinds.linear import LinearModel
from tasksim.models.kinds.power import PowerLaw
from tasksim.models.samples import Samples

CPU, CUDA0, CUDA1 = ModelledDevice(0, 0, 1), ModelledDevice(1, 0, 1), ModelledDevice(1, 1, 1)
SAMPLING = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "starpu" / "sampling"


@pytest.fixture
def shipped():
    if not SAMPLING.is_dir():
        pytest.skip("no files of StarPU in the folder `shared` beside the checkout")
    return sorted((SAMPLING / "codelets" / "45").iterdir())


def entry(size, mean, n=50, key=1, deviation=0.0):
    return HistoryEntry(key, size, 0.0, mean, deviation, n * mean, n * mean**2, n)


def history(*entries):
    return Implementation(entries=entries)


def codelet(*combinations):
    pairs = [(devices if isinstance(devices[0], ModelledDevice) else (devices,), found)
             for devices, *found in combinations]  # fmt: skip
    return Codelet("axpy", "laptop", tuple(Combination(d, tuple(found)) for d, found in pairs))


def only(implementation, samples=None):
    models, notes = to_models(codelet(((CPU,), implementation)), samples)
    return models.get("cpu"), notes


# Codelets as models


def test_an_architecture_per_device():
    found = codelet(
        (CPU, history(entry(8, 4.0))),
        (CUDA0, history(entry(8, 2.0))),
        (CUDA1, history(entry(8, 1.0))),
        (ModelledDevice(2, 0, 1), history(entry(8, 3.0))),
    )
    models, notes = to_models(found)
    assert {name: model.predict([[8]])[0] for name, model in models.items()} == {
        "cpu": 4e-6, "cuda0": 2e-6, "cuda1": 1e-6, "opencl0": 3e-6,
    }  # fmt: skip
    assert notes == []


def test_what_runs_on_several_cores_or_devices_is_left_out():
    found = codelet(
        (CPU, history(entry(8, 4.0))),
        (ModelledDevice(0, 0, 4), history(entry(8, 1.0))),
        ((CPU, CUDA0), history(entry(8, 1.0))),
    )
    models, notes = to_models(found)
    assert list(models) == ["cpu"]
    assert notes == [
        "cpu0_cores4: tasks on several cores or devices, left out",
        "cpu0_cores1_cuda0_cores1: tasks on several cores or devices, left out",
    ]


def test_the_fastest_implementation_of_each_entry_counts():
    first = history(entry(8, 4.0), entry(16, 9.0, key=2), entry(32, 0.0, n=0, key=3))
    second = history(entry(8, 5.0), entry(16, 7.0, key=2), entry(32, 20.0, key=3))
    models, _ = to_models(codelet(((CPU,), first, second)))
    assert models["cpu"].predict([[8], [16], [32]]).tolist() == [4e-6, 7e-6, 20e-6]


def test_entries_without_samples_or_with_few_are_told():
    model, notes = only(history(entry(8, 4.0, n=9), entry(16, 0.0, n=0, key=2)))
    assert model.predict([[8]])[0] == 4e-6
    assert notes == [
        "cpu: left out: entries without samples (1 of 2)",
        "cpu: fewer than 10 samples: size 8",
    ]
    for empty in Implementation(), history(entry(8, 0.0, n=0)):
        assert only(empty) == (
            None,
            ["cpu: no measurements, left out; a run with STARPU_CALIBRATE=1 adds some"],
        )


def test_of_entries_of_one_size_the_one_with_more_samples_counts_and_none_is_lost():
    model, notes = only(history(entry(8, 4.0, n=20, key=1), entry(8, 5.0, n=30, key=2)))
    assert model.predict([[8]])[0] == 5e-6
    assert notes == ["cpu: several footprints, of which the one with most samples counts: size 8"]
    assert sorted(e.footprint for e in model.entries_) == [1, 2]
    again = from_models("axpy", {"cpu": model}).combinations[0].implementations[0]
    assert sorted(e.hash for e in again.entries) == [1, 2]


def test_regressions_are_power_laws_where_they_are_valid():
    valid = Regression(alpha=2.0, beta=1.5, n=10, min_size=100, max_size=400)
    model, notes = only(Implementation(regression=valid))
    assert model.predict([[100], [400]]) == pytest.approx([2e-3, 16e-3], rel=1e-12)
    assert notes == []
    assert model.inside([[90], [440], [441]]).tolist() == [True, True, False]
    for wrong in (valid._replace(n=9), valid._replace(min_size=360), valid._replace(alpha=-1.0)):
        model, notes = only(Implementation((entry(8, 4.0),), wrong))
        assert model.kind == "bysize"
        assert notes == ["cpu: the regression is not valid, the history counts"]


def test_of_several_laws_the_one_fastest_for_middle_sizes_counts():
    slow = Regression(alpha=2.0, beta=1.0, n=10, min_size=100, max_size=400)
    fast = slow._replace(alpha=1.0)
    laws = [Implementation(regression=found) for found in (slow, fast)]
    models, notes = to_models(codelet(((CPU,), *laws)))
    assert models["cpu"].predict([[200]]) == pytest.approx([200e-6], rel=1e-12)
    assert notes == ["cpu: the fastest of 2 implementations for middle sizes counts"]
    lines = [Implementation(coefficients=(c,)) for c in (7.0, 5.0)]
    models, notes = to_models(codelet(((CPU,), *lines)))
    assert models["cpu"].predict(np.empty((1, 0))).tolist() == [7e-6]
    assert notes == ["cpu: the first of 2 implementations counts"]


def test_non_linear_regressions_have_a_constant():
    sums = Regression(n=50, min_size=100, max_size=400)
    found = (entry(100, 10.0, deviation=1.0), entry(400, 20.0, deviation=2.0))
    model, _ = only(Implementation(found, sums, (2.0, 0.5, 30.0)))
    assert model.predict([[100], [400]]) == pytest.approx([50e-6, 70e-6], rel=1e-12)
    assert (model.kind, model.constant, model.spread_) == ("power", True, pytest.approx(0.1))


def test_multiple_regressions_predict_their_formula():
    found = Implementation(
        coefficients=(125.0, 3.1e-4, 8.7e-6), coefficient_names=("M^2*N", "N^3*K")
    )
    model, notes = only(found)
    assert (model.kind, model.names_, notes) == ("mlr", ("M", "N", "K"), [])
    m, n, k = 20.0, 30.0, 40.0
    expected = (125.0 + 3.1e-4 * m**2 * n + 8.7e-6 * n**3 * k) / 1e6
    assert model.predict([[m, n, k]])[0] == pytest.approx(expected, rel=1e-14)
    assert model.inside([[1e9, 1.0, 1.0]]).all()
    assert model.sample([[m, n, k]], np.random.default_rng(0))[0] == model.predict([[m, n, k]])[0]


def test_the_samples_tell_where_a_multiple_regression_is_inside():
    samples = Samples(("N", "M"), [[1, 2], [3, 5], [2, 3]], [3e-6, 10e-6, 8e-6])
    found = Implementation(coefficients=(1.0, 1.0), coefficient_names=("M*N",))
    model, _ = only(found, samples)
    assert model.domain_ == {"M": (2.0, 5.0), "N": (1.0, 3.0)}
    assert model.inside([[2, 1], [6, 1]]).tolist() == [True, False]
    assert model.report()["samples"] == 3
    assert model.residual_quantiles_[[0, -1]] == pytest.approx([10 / 16, 8 / 7])


@pytest.mark.parametrize(
    ("values", "names", "why"),
    [
        ((math.nan,), (), "the multiple regression has no coefficients yet"),
        ((1.0, 2.0), (), "the file does not name the terms of the multiple regression"),
        ((1.0, 2.0), ("M^",), "expected an exponent, got the end"),
        ((1.0, 2.0, 3.0), ("M*N", "N*M"), "the term M*N is given twice"),
    ],
)
def test_multiple_regressions_that_say_too_little_are_told(values, names, why):
    model, notes = only(Implementation(coefficients=values, coefficient_names=names))
    assert model is None
    assert why in notes[0]


def test_every_entry_of_starpus_own_files_is_predicted_exactly(shipped):
    for path in shipped:
        codelet = read_codelet(path)
        models, _ = to_models(codelet)
        for combination in codelet.combinations:
            model = models[combination.name]
            found = combination.implementations[0].entries
            most = {e.size_bytes: e for e in sorted(found, key=lambda e: e.n)}
            table = [[size] for size in most]
            assert model.predict(table).tolist() == [e.mean_us / 1e6 for e in most.values()]
            assert model.inside(table).all()


def test_an_artificial_entry_does_not_spoil_what_lies_beyond(shipped):
    """12 288 bytes in 3.26 µs are among the entries: a thousandth of what 100 times more take."""
    path = next(path for path in shipped if path.name == "chol_model_gemm.mirage")
    for model in to_models(read_codelet(path))[0].values():
        size = 3 * 4 * 960**2
        twice = model.predict([[4 * size]])[0] / model.predict([[size]])[0]
        assert 6.5 < twice < 8.5  # of a product of matrices of twice the order: 8


# Models as codelets


def test_starpus_own_files_survive_the_way_there_and_back(shipped):
    def entries(codelet):
        return {
            c.name: sorted((e.hash, e.size_bytes, e.flops, e.mean_us, e.deviation_us, e.n)
                           for e in c.implementations[0].entries)
            for c in codelet.combinations
        }  # fmt: skip

    for path in shipped:
        codelet = read_codelet(path)
        again = from_models(codelet.symbol, to_models(codelet)[0], host=codelet.host)
        assert entries(again) == entries(codelet)
        assert (again.symbol, again.host, again.type) == (codelet.symbol, codelet.host, "history")


def test_histories_have_footprint_and_size_of_their_kernels_matrices():
    table = [[320.0] * 3, [320.0] * 3, [640.0] * 3]
    model = HistoryModel().fit(Samples(("m", "n", "k"), table, [1e-3, 3e-3, 9e-3]))
    (single,) = from_models("gemm", {"cuda": model}, kernel="gemm_float32").combinations
    assert single.devices == (CUDA0,)
    first, second = single.implementations[0].entries
    assert (f"{first.hash:08x}", first.size_bytes) == ("d46431bb", 1228800)
    assert (first.mean_us, first.n, first.sum) == (2000.0, 2, 4000.0)
    assert (first.deviation_us, first.sum2) == (pytest.approx(1000.0), 2 * (2000.0**2 + 1000.0**2))
    assert (f"{second.hash:08x}", second.size_bytes) == ("f0ac7beb", 4915200)
    (double,) = from_models("chol_model_gemm", {"cpu": model}, kernel="gemm").combinations
    assert double.implementations[0].entries[0].size_bytes == 2 * 1228800


def test_histories_by_size_have_the_footprint_of_the_size():
    one = HistoryModel().fit(Samples(("size_bytes",), [[25.0]], [1e-3]))
    other = SizeHistory.from_entries([SizeEntry(25, 1e-3, 0.0, 1)])
    for model in (one, other):
        (found,) = from_models("axpy", {"cpu": model}).combinations[0].implementations[0].entries
        assert (f"{found.hash:08x}", found.size_bytes) == ("50d9324f", 25)


def test_multiple_regressions_come_back(tmp_path):
    model = LinearModel.from_coefficients(("m", "n"), {"m^2*n": 3.1e-10, "1": 2e-6, "n": -1e-9})
    found = from_models("axpy", {"cpu": model})
    write_codelet(found, tmp_path / "axpy.laptop")
    assert (
        "# n\tintercept\tm^2*n\t\tn\t\t\n3\t2.000000e+00" in (tmp_path / "axpy.laptop").read_text()
    )
    again = to_models(read_codelet(tmp_path / "axpy.laptop"))[0]["cpu"]
    table = [[2.0, 3.0], [100.0, 7.0]]
    assert again.predict(table) == pytest.approx(model.predict(table), rel=1e-13)


@settings(max_examples=40)
@given(
    a=st.floats(1e-12, 1e-3),
    b=st.floats(0, 3),
    c=st.none() | st.floats(0, 1e-3),
    low=st.integers(1, 1000),
)
def test_power_laws_come_back(tmp_path_factory, a, b, c, low):
    law = PowerLaw.from_coefficients(a, b, c, low=low, high=100 * low, count=20)
    path = tmp_path_factory.mktemp("laws") / "axpy.laptop"
    write_codelet(from_models("axpy", {"cuda1": law}), path)
    again = to_models(read_codelet(path))[0]["cuda1"]
    table = [[low], [10 * low], [1000 * low]]
    assert again.predict(table) == pytest.approx(law.predict(table), rel=1e-12)
    assert again.domain_ == law.domain_


def test_the_sums_of_a_power_law_give_it_again():
    law = PowerLaw.from_coefficients(2e-6, 1.5, low=100, high=400, count=20)
    sums = from_models("axpy", {"cpu": law}).combinations[0].implementations[0].regression
    n = sums.n
    beta = (n * sums.sum_lnxlny - sums.sum_lnx * sums.sum_lny) / (
        n * sums.sum_lnx2 - sums.sum_lnx**2
    )
    assert beta == pytest.approx(1.5, rel=1e-9)
    assert math.exp((sums.sum_lny - beta * sums.sum_lnx) / n) == pytest.approx(2.0, rel=1e-9)


def test_what_starpu_cannot_say_is_refused():
    cases = [
        ("potrf", {"big": law()}, "no architecture 'big' .*known: cpu, cuda, opencl"),
        ("potrf", {"cuda": law(), "cuda0": law()}, "potrf: two models for cuda0"),
        (
            "potrf",
            {"cpu": ConstantModel(1.0)},
            "potrf on cpu: StarPU has no models of kind 'constant'",
        ),
        (
            "axpy",
            {"cpu": linear("m^0.5")},
            r"axpy on cpu: got the term m\^0.5; legal in StarPU's .*: products of whole powers",
        ),
        ("axpy", {"cpu": linear("log(m)")}, r"got the term log\(m\)"),
        ("gem", {"cpu": HistoryModel().fit(one_sample())}, "matrices of 'gem' .*mean 'gemm'"),
    ]
    for symbol, models, message in cases:
        with pytest.raises(InputError, match=message):
            from_models(symbol, models)


def law():
    return PowerLaw.from_coefficients(1e-6, 1.0, low=1, high=2)


def linear(term):
    return LinearModel.from_coefficients(("m",), {term: 1.0})


def one_sample():
    return Samples(("m", "n", "k"), [[8.0, 8.0, 8.0]], [1e-3])


# Samples of multiple regressions


def test_samples_of_starpus_example():
    path = SAMPLING / "codelets" / "tmp" / "mlr_init.out"
    if not path.is_file():
        pytest.skip("no files of StarPU in the folder `shared` beside the checkout")
    samples = read_starpu_out(path)
    assert (samples.names, len(samples)) == (("M", "N", "K"), 1764)
    assert samples.parameters[0].tolist() == [6.0, 5.0, 4.0]
    assert samples.durations_s[0] == 0.422e-6
    model = LinearModel("M^2*N + N^3*K", weights="none").fit(samples)
    assert model.rsquared_ > 0.9


def test_samples_of_0_us_are_left_out(tmp_path):
    path = tmp_path / "axpy.out"
    path.write_text("Duration, P0\n2.000000, 8.000000\n0.000000, 8.000000\n3.5, 16")
    samples = read_starpu_out(path)
    assert samples.parameters.tolist() == [[8.0], [16.0]]
    assert samples.durations_s.tolist() == [2e-6, 3.5e-6]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1:1: expected 'Duration, NAME, NAME, ...', found ''"),
        ("Time, M\n1, 2", "1:1: expected 'Duration, NAME, NAME, ...', found 'Time, M'"),
        ("Duration, M\n", "2:1: expected samples, found none"),
        ("Duration, M\n1.0, 2.0, 3.0", "2:1: expected 2 numbers, found 3"),
        ("Duration, M\n1.0, 2.0\n1.0, nan", "3:5: expected a number, found 'nan'"),
        ("Duration, M, M\n1.0, 2.0, 3.0", " parameter 'M' is given twice"),
    ],
)
def test_samples_that_are_none_are_refused(tmp_path, text, message):
    path = tmp_path / "axpy.out"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read_starpu_out(path)
    assert str(error.value).startswith(f"{path}:{message}")


@settings(max_examples=60)
@given(
    text=st.text(max_size=60)
    | st.lists(st.sampled_from(["1", "nan", ",", "\n", "1e999", "-2"]), max_size=12).map("".join)
)
def test_garbage_is_no_samples(tmp_path_factory, text):
    path = tmp_path_factory.mktemp("garbage") / "axpy.out"
    path.write_text(f"Duration, M\n{text}", encoding="utf-8", newline="")
    try:
        found = len(read_starpu_out(path))
    except InputError as error:
        found = str(error).startswith(f"{path}:")
    assert found
