"""Which kernels get linear models without being asked."""

from __future__ import annotations

import numpy as np
import pytest

from tasksim.base.errors import InputError
from tasksim.calibration.fit_kernels import choose_linear, irregular
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


def test_all_and_none():
    every = choose_linear([FMM, CHOLESKY, GEMM], {"trsm": "m"}, "all")
    assert every.linear == {*FMM.kernels, "potrf", "trsm", "syrk", "gemm"}
    assert every.irregular == set()  # it was asked for
    assert choose_linear([FMM, GEMM], {}, "none").linear == set()
    with pytest.raises(InputError, match="search: got 'some'; legal: irregular, all, none"):
        choose_linear([FMM], {}, "some")
