"""The experiment on tensor completion, at a tiny size, and the parts that it is made of."""

import json
import sys
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiers import LONG

from experiments.tensor_completion import sweeps
from experiments.tensor_completion.__main__ import main
from experiments.tensor_completion.applications import AMG, KRIPKE, broadcast, fmm, kernel
from experiments.tensor_completion.datasets import (
    encoded,
    metrics,
    mlogq,
    read_dataset,
    samples_of,
    write_means,
)
from experiments.tensor_completion.experiment import TENSOR_COMPLETION
from experiments.tensor_completion.functions import FUNCTIONS, decompose
from experiments.tensor_completion.judged import failures
from experiments.tensor_completion.learners import learners
from experiments.tensor_completion.measuring import applications, cases
from experiments.tensor_completion.sparse_grids import SparseGrid, points_of
from experiments.tensor_completion.splines import Splines
from experiments.tensor_completion.sweeps import sizes_of
from tasksim import InputError

TINY_DESIGN = [
    "--kernels", "potrf", "--applications", "broadcast,kripke,mpi", "--largest", "256",
    "--measured", "60", "--seconds", "600", "--repetitions", "1", "--simulated", "60",
    "--made-up", "200", "--below", "40", "--samples", "40,80", "--cells", "4,8", "--ranks",
    "1,4", "--models", "cp,MARS,SGR,KNN", "--broadcast-ranks", "8", "--algorithm", "binomial",
]  # fmt: skip


class FakeWork:
    """Tools of a step, without a folder."""

    mpiexec = None

    def __init__(self, **settings):
        self.settings = {**TENSOR_COMPLETION.values("quick", {}), **settings}

    def tasksim(self, *words):
        assert words == ("list", "kernels", "--json")
        return json.dumps({"kernels": {"gemm": "m=... n=... k=...", "geqrf": "m=... n=...",
                                       "potrf": "n=..."}})  # fmt: skip


def call(monkeypatch, capsys, *words):
    monkeypatch.setattr(sys, "argv", ["experiments.tensor_completion", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code, *capsys.readouterr()


@pytest.mark.slow
@pytest.mark.usefixtures("commands_here")
def test_the_whole_experiment_makes_every_exhibit(monkeypatch, capsys, tmp_path):
    if not LONG:  # tensors beyond the samples take half of the time
        monkeypatch.setattr(sweeps, "BEYOND_RANKS", (1, 2))
        monkeypatch.setattr(sweeps, "BEYOND_CELLS", (8,))
    monkeypatch.chdir(tmp_path)
    code, out, err = call(monkeypatch, capsys, *TINY_DESIGN)
    assert code == 0, err
    folder = tmp_path / "tensor-completion"
    results = json.loads((folder / "results.json").read_text())
    names = [f"table-{n}" for n in (1, 2)] + [f"figure-{n}" for n in (1, 3, 4, 5, 6, 7, 8)]
    assert [e["name"] for e in results["exhibits"]] == names
    for name in names:
        assert not pd.read_csv(folder / "tables" / f"{name}.csv").empty
        assert name in out
        if name.startswith("figure"):
            assert (folder / "figures" / f"{name}.png").stat().st_size > 10_000
    rows = pd.DataFrame(results["found"]["tensors"]["rows"])
    assert set(rows["application"]) - {"mpi"} == {"potrf", "broadcast", "kripke"}
    assert rows.groupby(["cells", "rank"]).size().index.tolist() == [(4, 1), (4, 4), (8, 1), (8, 4)]
    assert rows["error"].min() < 1.0
    beyond = pd.DataFrame(results["found"]["extrapolation"]["rows"])
    assert set(beyond["case"]) == {"potrf-n", "broadcast-nodes", "broadcast-size_bytes"}
    assert "tasksim measure potrf" in (folder / "commands.txt").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--models", "cp,mrs"], "did you mean 'MARS'?"),
        (["--applications", "amgg"], "did you mean 'amg'?"),
        (["--cells", "1"], "legal: at least 2"),
        (["--algorithm", "binomal"], "did you mean 'binomial'?"),
        (["--scheduler", "lsw"], "did you mean 'lws'?"),
        (["--kernels", "gem"], "unknown 'gem', did you mean 'gemm'?"),
    ],
)
def test_wrong_settings_are_told_before_anything_is_measured(
    monkeypatch, capsys, tmp_path, words, said
):
    monkeypatch.chdir(tmp_path)
    code, out, err = call(monkeypatch, capsys, *words)
    assert (code, out) == (2, "")
    assert said in err
    assert not list(tmp_path.glob("*/work/*/*.csv"))


# --- applications --------------------------------------------------------------------------------

KNOWN = [kernel("gemm", ("m", "n", "k"), 512), kernel("geqrf", ("m", "n"), 512), broadcast(64),
         fmm(4000), AMG, KRIPKE]  # fmt: skip


@given(application=st.sampled_from(KNOWN), seed=st.integers(0, 1000))
def test_configurations_are_legal_distinct_and_in_their_ranges(application, seed):
    drawn = application.draw(150, seed)
    assert len(drawn) == 150
    assert not drawn.duplicated().any()
    for name, axis in application.axes.items():
        if axis.values:
            assert set(drawn[name]) <= set(axis.values)
        else:
            assert drawn[name].between(axis.low, axis.high).all()
            assert (drawn[name] % 1 == 0).all()
    if application.legal is not None:
        assert np.asarray(application.legal(drawn)).all()


@given(seed=st.integers(0, 1000))
def test_processes_and_threads_fill_a_node(seed):
    for application in (AMG, KRIPKE):
        made = application.made_up(100, seed)
        assert (made["ppn"] * made["tpp"]).between(64, 128).all()
        assert (made["duration_s"] > 0).all()
        assert np.isfinite(made["duration_s"]).all()


def test_limits_narrow_what_is_drawn_and_a_small_domain_is_exhausted():
    sent = broadcast(8)
    drawn = sent.draw(50, 0, {"nodes": (4, 4)})
    assert set(drawn["nodes"]) == {4.0}
    assert set(drawn["ppn"]) == {1.0, 2.0}
    drawn = sent.draw(50, 0, {"size_bytes": (2**16, 2**16), "nodes": (8, 8)})
    assert len(drawn) == 1


def test_categories_matter_to_what_is_made_up():
    table = AMG.draw(200, 0)
    for name in ("ct", "rt", "it"):
        seconds = {v: AMG.law(table.assign(**{name: v})).mean() for v in AMG.axes[name].values}
        assert len(set(seconds.values())) == len(seconds)
    table = KRIPKE.draw(200, 0)
    for name in ("layout", "solver"):
        seconds = {
            v: KRIPKE.law(table.assign(**{name: v})).mean() for v in KRIPKE.axes[name].values
        }
        assert len(set(seconds.values())) == len(seconds)


def test_the_cases_are_one_size_all_sizes_nodes_and_message_sizes():
    work = FakeWork(kernels=("gemm",), largest=1024, broadcast_ranks=64)
    found = {case.name: case for case in cases(applications(work))}
    assert list(found) == ["gemm-m", "gemm-m-n-k", "broadcast-nodes", "broadcast-size_bytes"]
    assert found["gemm-m"].tops == (64, 128, 256, 512)
    assert found["gemm-m"].below(128) == {"m": (32, 128)}
    assert found["gemm-m-n-k"].test() == dict.fromkeys("mnk", (512, 1024))
    assert found["broadcast-nodes"].tops == (4, 8, 16, 32)
    assert found["broadcast-nodes"].test() == {"nodes": (64, 64)}
    assert found["broadcast-size_bytes"].tops == (2**19, 2**21, 2**23, 2**25)
    one = FakeWork(kernels=("potrf",), applications=())
    assert [case.name for case in cases(applications(one))] == ["potrf-n"]


# --- data sets -----------------------------------------------------------------------------------


def test_a_data_set_has_means_in_two_parts(tmp_path):
    n = np.repeat(np.arange(1, 101), 2)
    table = pd.DataFrame({"n": n, "name": np.where(n > 50, "b", "a"), "duration_s": 1.0 * n})
    table.loc[::2, "duration_s"] *= 2
    assert write_means(table, tmp_path / "x.csv", {"n": None, "name": None}) == 100
    data = read_dataset(tmp_path / "x.csv", 1000)
    assert (len(data.train), len(data.test)) == (80, 20)
    every = pd.concat([data.train, data.test])
    assert sorted(every["n"]) == list(range(1, 101))
    assert np.allclose(every["duration_s"], 1.5 * every["n"])
    assert (np.diff(data.train["n"]) < 0).any()  # in no order
    samples = data.samples(40)
    assert samples.names == ("n", "name")
    assert encoded(data.test, samples)[:, 1].tolist() == (data.test["n"] > 50).tolist()
    assert [sizes_of(data, wanted) for wanted in ((10, 40, 100), (10, 70, 100), (10, 40))] == [
        [10, 40, 80], [10, 70], [10, 40],
    ]  # fmt: skip
    write_means(table.iloc[:78], tmp_path / "y.csv", {"n": None, "name": None})
    with pytest.raises(InputError, match=r"39 configurations are too few .* legal: 40 or more"):
        read_dataset(tmp_path / "y.csv", 1000)


@given(
    st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=20),
    st.floats(1.1, 100),
)
def test_only_logarithms_of_quotients_and_smape_judge_both_ways_alike(measured, factor):
    y = np.array(measured)
    longer, shorter = metrics(factor * y, y), metrics(y / factor, y)
    for name in ("MLogQ", "MLogQ2", "SMAPE"):
        assert longer[name] == pytest.approx(shorter[name], rel=1e-9)
    assert longer["MLogQ"] == pytest.approx(np.log(factor))
    assert longer["MLogQ"] == pytest.approx(mlogq(factor * y, y))
    assert longer["MAPE"] == pytest.approx(factor - 1)
    assert shorter["MAPE"] == pytest.approx(1 - 1 / factor)
    assert longer["SMAPE"] < 2


# --- models --------------------------------------------------------------------------------------


def points(count, modes, seed=0):
    return np.random.default_rng(seed).uniform(-2, 2, (count, modes))


def test_splines_find_hinges_and_their_products():
    table = points(600, 3)
    knot = np.quantile(table[:, 0], 7 / 13)  # a candidate: one of twelve quantiles
    bend = 1 + 3 * np.maximum(table[:, 0] - knot, 0)
    model = Splines(degree=1).fit(table, bend)
    assert np.allclose(model.predict(table), bend, atol=1e-6)
    assert len(model.terms_) <= 3
    bilinear = table[:, 0] * table[:, 1]
    assert np.abs(Splines(degree=1).fit(table, bilinear).predict(table) - bilinear).max() > 1
    product = Splines(degree=2).fit(table, bilinear)
    assert np.abs(product.predict(table) - bilinear).max() < 0.05
    beyond = np.array([[4.0, 1.0, 0.0]])
    assert product.predict(beyond) == pytest.approx(4.0, rel=0.05)  # goes on as it ends


def test_splines_leave_out_what_only_noise_asks_for():
    table = points(300, 4)
    noise = np.random.default_rng(1).standard_normal(300)
    assert len(Splines(degree=2).fit(table, noise).terms_) <= 8


@pytest.mark.parametrize(("modes", "level"), [(1, 4), (2, 3), (3, 4), (5, 2)])
def test_a_sparse_grid_has_as_many_hats_as_points_and_contains_linear_functions(modes, level):
    table = points(400, modes)
    linear = table @ np.arange(1, modes + 1) + 7
    model = SparseGrid(level, ridge=1e-12).fit(table, linear)
    assert len(model.coefficients_) == points_of(modes, level)
    if level > 1:
        assert np.allclose(model.predict(table), linear, atol=1e-4)
        expected = 3.0 * np.arange(1, modes + 1).sum() + 7
        assert model.predict(np.full((1, modes), 3.0)) == pytest.approx(expected, rel=1e-3)


def test_a_sparse_grid_of_too_many_points_is_refused():
    with pytest.raises(InputError, match="a sparse grid of 6401 points; legal: 1500 at most"):
        SparseGrid(5).fit(points(10, 8), np.zeros(10))


def test_all_kinds_of_models_predict_a_product_of_powers():
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(0)
    m, n = np.floor(np.exp(rng.uniform(np.log(32), np.log(1024), (2, 400))))
    table = pd.DataFrame({"m": m, "n": n, "layout": np.where(rng.random(400) < 0.5, "row", "col")})
    table["duration_s"] = 1e-9 * m * n * np.where(table["layout"] == "row", 1.0, 2.0)
    samples, test = samples_of(table.head(300)), table.tail(100)
    best = {}
    for learner in learners(("hybrid", "MARS", "SGR", "KNN", "GP", "ET", "NN"), samples):
        predict, size = learner.fit(samples)
        error = mlogq(predict(test), test["duration_s"].to_numpy())
        best[learner.family] = min(error, best.get(learner.family, 9.0))
        assert size > 100
    assert best["hybrid"] < 0.01
    assert best["MARS"] < 0.05
    assert best["GP"] < 0.05
    assert best["NN"] < 0.2
    # Sparse grids cannot see categories that are numbers as one of two, but they are two here.
    assert best["SGR"] < 0.05
    assert max(best.values()) < 0.5


def test_fits_that_failed_are_told():
    row = {"family": "SGR", "error": None, "why": "a sparse grid of 6401 points"}
    found = {"learners": {"rows": [row, {**row, "error": 0.1}]}, "tensors": {"rows": []}}
    said = failures(found, "tensors", "learners")
    assert said == " 1 fits failed (SGR), the first: a sparse grid of 6401 points."
    assert failures(found, "tensors") == ""


def test_logarithms_lose_error_with_each_rank_where_durations_may_not():
    found = decompose(FakeWork(seed=0))
    for name in FUNCTIONS:
        errors = found[name]["logarithms"]
        assert all(b <= a + 1e-12 for a, b in pairwise(errors))
    assert any(b > a for name in FUNCTIONS for a, b in pairwise(found[name]["durations"]))
    assert found["f3"]["singular values"][3] < 1e-10  # x y, x + y, sqrt(x y): rank 3 or 4
