"""Kernels that get linear models, and their terms."""

from __future__ import annotations

import numpy as np
import pytest
from tiers import few

from tasksim.base.errors import InputError
from tasksim.calibration.fit_kernels import (
    KNOWN_TERMS,
    Fits,
    choose_linear,
    fit_searched,
    irregular,
    predicted_graphs,
)
from tasksim.calibration.kernels_under_load import KernelCall
from tasksim.graph.apps.registry import generate
from tasksim.graph.builder import GraphBuilder
from tasksim.models.samples import Samples

FMM = generate("fmm", particles=2000, height=4, group_size=10)
CHOLESKY = generate("cholesky", tiles=10)
GEMM = KernelCall("gemm", {"m": 8, "n": 8, "k": 8})


def sizes(*counts):
    """A graph of one kernel whose configurations occur so often."""
    builder = GraphBuilder("sizes")
    for m, count in enumerate(counts):
        for _ in range(count):
            builder.insert("gemm", m=m)
    return builder.build()


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([1] * 41, True),
        ([1] * 40, False),  # a table of so many can be read
        ([2] * 1000, False),
        ([1] * 30 + [9] * 20, True),
        ([1] * 20 + [2] * 30, False),
        ([1000], False),
    ],
)
def test_irregular_is_what_has_many_configurations_most_of_them_once(counts, expected):
    assert irregular(sizes(*counts)) is expected


@pytest.mark.parametrize("distribution", ["cube", "ellipsoid"])
def test_graphs_that_are_irregular_and_that_are_not(distribution):
    assert irregular(
        generate("fmm", particles=5000, height=5, group_size=40, distribution=distribution)
    )
    for name in ("cholesky", "lu", "qr"):
        assert not irregular(generate(name, tiles=12))
    assert not irregular(generate("chain", length=100))


def test_all_kernels_of_an_irregular_graph_get_terms_and_no_others():
    chosen = choose_linear([FMM, CHOLESKY, GEMM], {}, "irregular")
    assert chosen.searched == chosen.irregular == chosen.linear == set(FMM.kernels)
    assert chosen.terms_of("M2M") == "auto"
    assert chosen.terms_of("gemm") is None


def test_kernels_are_named_as_their_models_are():
    flat = generate("fmm", particles=2000, height=6, group_size=10, dimension=2)
    assert "P2P_in_2d" in choose_linear([flat], {}, "irregular").searched


def test_terms_that_are_given_are_not_searched_for():
    chosen = choose_linear([FMM], {"P2M": "NbParticles"}, "irregular")
    assert chosen.terms_of("P2M") == "NbParticles"
    assert "P2M" not in chosen.searched
    assert "P2M" in chosen.linear


@pytest.mark.parametrize(
    ("configurations", "each", "expected"), [(41, 1, True), (40, 1, False), (41, 2, False)]
)
def test_a_graph_is_irregular_if_an_earlier_one_with_its_kernels_was(
    configurations, each, expected
):
    """Few tasks do not turn the models of many into histories."""
    small = sizes(1, 1)
    m = np.tile(np.repeat(np.arange(configurations), each), 3)
    samples = Samples(("m",), m[:, None], np.ones(len(m)), np.repeat([0, 1, 2], len(m) // 3))
    assert not irregular(small)
    assert choose_linear([small], {}, "irregular").linear == set()
    chosen = choose_linear([small, CHOLESKY], {}, "irregular", {"gemm": samples})
    assert ("gemm" in chosen.linear) is expected
    assert choose_linear([small], {}, "none", {"gemm": samples}).linear == set()
    assert choose_linear([small], {}, "irregular", {"gemm_nn": samples}).linear == set()


def test_sizes_that_will_be_predicted_make_a_search_of_a_history():
    larger = generate("cholesky", tiles=3, tile_size=2048)
    chosen = choose_linear([CHOLESKY, GEMM], {"trsm": "m"}, "irregular", predicted=[larger])
    assert chosen.searched == chosen.unmeasured == {"potrf", "syrk", "gemm"}
    assert chosen.irregular == chosen.missing == set()
    same = choose_linear([CHOLESKY], {}, "irregular", predicted=[CHOLESKY])
    assert same.searched == set()
    assert choose_linear([CHOLESKY], {}, "none", predicted=[larger]).searched == set()
    other = choose_linear([CHOLESKY], {}, "irregular", predicted=[generate("lu", tiles=3)])
    assert "getrf" in other.missing
    assert "gemm" not in other.missing


def test_sizes_of_earlier_samples_are_measured():
    larger = generate("cholesky", tiles=3, tile_size=2048)
    earlier = {"potrf": Samples(("n",), [[2048.0], [2048.0]], [1.0, 1.1])}
    chosen = choose_linear([CHOLESKY], {}, "irregular", earlier, [larger])
    assert "potrf" not in chosen.unmeasured
    assert "gemm" in chosen.unmeasured


def test_how_well_sizes_to_be_predicted_are_known_is_told():
    rng = np.random.default_rng(0)
    n = np.repeat(2.0 ** np.arange(4, 9), 8)
    samples = Samples(("n",), n[:, None], 1e-9 * n**3 * rng.lognormal(0, 0.02, len(n)))
    larger = generate("cholesky", tiles=2, tile_size=512)
    choice = choose_linear([CHOLESKY], {}, "irregular", predicted=[larger])
    fits = Fits()
    model = fits.fit("potrf", samples, choice)
    assert model.predict([[512.0]])[0] == pytest.approx(1e-9 * 512**3, rel=0.1)
    share, _, error = fits.outside["potrf"].partition(" % of the sizes to be predicted are outside")
    assert float(share) == 100
    assert "fitted to the rest, it errs by" in error
    assert error.endswith("on those with the largest n")
    history = Fits()
    history.fit("potrf", samples, choose_linear([CHOLESKY], {}, "none", predicted=[larger]))
    assert history.outside["potrf"].endswith("where history predicts nothing")


def test_all_and_none():
    every = choose_linear([FMM, CHOLESKY, GEMM], {"trsm": "m"}, "all")
    assert every.linear == {*FMM.kernels, "potrf", "trsm", "syrk", "gemm"}
    assert every.irregular == set()  # it was asked for
    assert choose_linear([FMM, GEMM], {}, "none").linear == set()


def particles(duration_s, *, low=1000, high=1300, seed=0, name="NbParticles"):
    """Twenty groups with this many particles, timed three times, 3 % off."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(rng.integers(low, high, 20), 3).astype(float)
    noisy = duration_s(rows) * rng.lognormal(0, 0.03, len(rows))
    return Samples((name,), rows[:, None], noisy, np.tile(np.arange(3), 20))


def line(particles):
    return 1e-6 + 1e-8 * particles


def test_where_samples_leave_it_open_known_terms_are_taken():
    for seed in range(few(20)):
        model = fit_searched("L2P", particles(line, seed=seed))
        assert set(model.terms_) <= {"1", "NbParticles"}


@pytest.mark.slow
def test_what_is_known_of_other_kernels_does_not_count():
    names = {fit_searched("mine", particles(line, seed=seed)).terms_ for seed in range(20)}
    assert any("NbParticles^" in term for terms in names for term in terms)


def test_samples_refute_what_is_known():
    model = fit_searched("L2P", particles(lambda n: 1e-12 * n**2, low=100, high=3000))
    assert model.terms_[-1] == "NbParticles^2"
    assert model.predict([[6000.0]]) == pytest.approx([36e-6], rel=0.05)


def test_samples_of_other_parameters_are_searched_as_ever():
    model = fit_searched("L2P", particles(line, low=100, high=3000, name="n"))
    assert model.terms_ == ("1", "n")


def test_known_parameters_that_never_change_are_none():
    rows = np.array([[100.0, n] for n in range(1, 9)])
    samples = Samples(("NbParticles", "Order"), rows, 1e-6 * rows[:, 1] ** 2)
    assert fit_searched("L2P", samples).terms_ == ("Order^2",)


def test_the_fmm_has_the_parameters_of_its_known_terms():
    graph = generate("fmm", particles=2000, height=4, group_size=10)
    for kernel, table in KNOWN_TERMS.items():
        at = graph.kernels.index(kernel)
        task = int(np.flatnonzero(graph.kernel == at)[0])
        assert set(table.split(" + ")) <= graph.parameters_of(task).keys()
    assert KNOWN_TERMS.keys() == set(graph.kernels)


@pytest.mark.parametrize("given", ["cholesky tiles=2", 3, [CHOLESKY, 4]])
def test_graphs_that_will_be_predicted_are_a_list(given):
    with pytest.raises(InputError, match=r"predicted: got .*; legal: a list of graphs, by name or"):
        predicted_graphs(given)
