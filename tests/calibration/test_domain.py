"""Domains of a kernel's parameters: how they are written, and what is drawn from them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasksim.base.errors import InputError
from tasksim.calibration.domain import (
    DomainAxis,
    grid_counts,
    latin_hypercube,
    parse_axis,
    parse_domain,
)

DESIGNS = ["lhs", "random", "grid"]
GEQRT = ["m=32..512:log", "n=16..256:log", "ib=8,16,32"]


def test_texts_and_back():
    settings = ["k=64,128", "n=m", "m=32..2048:log"]
    domain = parse_domain("gemm", settings)
    assert domain.names == ("m", "n", "k")
    described = domain.describe()
    assert described == {"m": "32..2048:log", "n": "m", "k": "64,128"}
    assert parse_domain("gemm", [f"{k}={v}" for k, v in described.items()]) == domain


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("n=64..32", "n: got '64..32'; legal: from 1 to 2147483647, low end first"),
        ("n=0", "n: got '0'; legal: sizes from 1 to 2147483647"),
        ("n=a", "n: got 'a'; legal: a size 64, a list"),
        ("n=32..64:lin", "n: got '32..64:lin'; legal: "),
        ("n", "got 'n'; legal: PARAMETER="),
        ("p=3", "unknown parameter 'p'"),
        ("k=3", "kernel syrk: k is given twice"),
        ("n=n", "n=n: n is not free itself"),
    ],
)
def test_wrong_texts_are_told(setting, message):
    with pytest.raises(InputError) as error:
        parse_domain("syrk", ["k=64", setting])
    assert message in str(error.value)


def test_missing_parameters_and_kernels_are_told():
    with pytest.raises(InputError, match=r"no sizes of n, k; give e\.g\. n=32\.\.2048:log k="):
        parse_domain("gemm", ["m=1"])
    with pytest.raises(InputError, match="unknown kernel 'gem', did you mean 'gemm'"):
        parse_domain("gem", [])


@pytest.mark.parametrize("design", DESIGNS)
def test_same_seed_same_configurations_in_the_same_order(design):
    domain = parse_domain("geqrt", GEQRT)
    first, again = (domain.draw(200, 7, design) for _ in range(2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, domain.draw(200, 8, design)[: len(first)])


@pytest.mark.parametrize("design", DESIGNS)
def test_configurations_are_different_legal_and_inside(design):
    table = parse_domain("geqrt", GEQRT).draw(300, 0, design)
    m, n, ib = table.T
    assert len(np.unique(table, axis=0)) == len(table) <= 300
    assert (n <= m).all()
    assert (ib <= n).all()
    assert (m.min() >= 32, m.max() <= 512, n.min() >= 16, n.max() <= 256) == (True,) * 4
    assert set(ib.tolist()) == {8, 16, 32}


@pytest.mark.parametrize("design", ["lhs", "random"])
def test_as_many_as_asked_for_in_spite_of_rules_and_repetitions(design):
    assert len(parse_domain("geqrt", GEQRT).draw(5000, 0, design)) == 5000


def test_small_domains_are_drawn_whole():
    table = parse_domain("syrk", ["n=1..3", "k=5,7"]).draw(100)
    assert sorted(map(tuple, table.tolist())) == [(n, k) for n in (1, 2, 3) for k in (5, 7)]


def test_small_domains_are_drawn_by_their_weights():
    counts = np.zeros(101)
    domain = parse_domain("potrf", ["n=1..100:log"])
    for seed in range(200):
        np.add.at(counts, domain.draw(30, seed)[:, 0], 1)
    assert counts.sum() == 200 * 30
    assert counts[1] > 195
    assert counts[1:11].sum() > 3 * counts[91:].sum()


def test_an_empty_domain_is_told():
    with pytest.raises(InputError, match=r"no configuration of the domain has ib <= n and n <= m"):
        parse_domain("geqrt", ["m=8", "n=16", "ib=4"]).draw(5)


def test_logarithms_are_uniform():
    domain = parse_domain("gemm", ["m=32..2047:log", "n=32..2047", "k=1"])
    m, n, _ = domain.draw(4000, 1, "random").T
    # Six octaves, each a sixth of the draws; uniformly, the last octave has half of them.
    octaves = np.histogram(np.log2(m), bins=np.arange(5, 12))[0]
    assert np.abs(octaves - 4000 / 6).max() < 4 * np.sqrt(4000 / 6)
    assert abs(np.mean(n >= 1040) - 0.5) < 0.04


def test_a_latin_hypercube_hits_every_slice_once():
    points = latin_hypercube(50, 3, np.random.default_rng(0))
    assert points.min() >= 0
    assert points.max() < 1
    assert np.array_equal(np.sort((50 * points).astype(int), axis=0), np.tile(range(50), (3, 1)).T)
    m = parse_domain("syrk", ["n=1..64000", "k=1..64000"]).draw(64, 3)[:, 0]
    assert sorted((m - 1) // 1000) == list(range(64))


def test_grids_have_both_ends_and_even_spaces():
    table = parse_domain("syrk", ["n=32..512:log", "k=10..40"]).draw(25, 0, "grid")
    assert sorted(set(table[:, 0].tolist())) == [32, 64, 128, 256, 512]
    assert sorted(set(table[:, 1].tolist())) == [10, 18, 25, 32, 40]
    with pytest.raises(InputError, match=r"has 8 configurations; legal: .* got 7"):
        parse_domain("gemm", ["m=1..9", "n=1..9", "k=1..9"]).draw(7, 0, "grid")


def test_wrong_requests():
    domain = parse_domain("potrf", ["n=1..9"])
    with pytest.raises(InputError, match="samples=0; legal: at least 1"):
        domain.draw(0)
    with pytest.raises(InputError, match="unknown design 'lhc', did you mean 'lhs'"):
        domain.draw(3, 0, "lhc")


@given(
    st.integers(1, 2**31 - 1),
    st.integers(0, 2**31),
    st.booleans(),
    st.floats(0, 1, exclude_max=True),
)
def test_drawn_sizes_are_inside(low, width, log, share):
    axis = DomainAxis(low=low, high=min(low + width, 2**31 - 1), log=log)
    (size,) = axis.at(np.array([share])).tolist()
    assert axis.low <= size <= axis.high
    assert parse_axis(str(axis), "n") == axis


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 50), st.booleans()), min_size=1, max_size=4),
    st.integers(1, 500),
)
def test_a_grid_is_as_large_as_fits(axes, limit):
    lengths, fixed = zip(*axes, strict=True)
    counts = grid_counts(lengths, fixed, limit)
    assert all(c == length for c, length, held in zip(counts, lengths, fixed, strict=True) if held)
    least = [n if held else min(n, 2) for n, held in axes]
    assert np.prod(counts) <= max(limit, np.prod(least))


@pytest.mark.parametrize("text", ["010", "1_0", "8..010", "08..16", "1_0..16"])
def test_numbers_that_are_questions_are_refused(text):
    with pytest.raises(InputError, match="legal: a size 64"):
        parse_axis(text, "m")
