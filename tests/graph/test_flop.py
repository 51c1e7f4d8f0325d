"""Operation counts of dense kernels."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tasksim.base.errors import InputError
from tasksim.graph.apps.registry import generate
from tasksim.graph.builder import GraphBuilder
from tasksim.graph.flop import COLLECTIVES, flop, flop_kernels, task_flop

# Bouwmeester et al., SC 2011, table 1, and its counterparts for Cholesky and LU: units of b³/3.
UNITS = {
    "potrf": 1, "trsm": 3, "syrk": 3, "gemm": 6,
    "getrf": 2, "trsm_ll": 3, "trsm_ru": 3,
    "geqrt": 4, "gemqrt": 6, "tpqrt": 6, "tpmqrt": 12,
    "trmm": 3, "trtri": 1, "geqrf": 4, "ormqr": 6,
}  # fmt: skip


@pytest.mark.parametrize("kernel", sorted(UNITS))
def test_square_tiles_take_the_published_multiples(kernel):
    assert flop(kernel, m=6, n=6, k=6, ib=2) == pytest.approx(UNITS[kernel] * 6**3 / 3)


@pytest.mark.parametrize(
    ("kernel", "sizes", "count"),
    [
        ("gemm", {"m": 2, "n": 3, "k": 5}, 60),
        ("syrk", {"n": 3, "k": 5}, 45),
        ("trsm", {"m": 2, "n": 3}, 18),
        ("trsm_ll", {"m": 2, "n": 3}, 12),
        ("trsm_ru", {"m": 2, "n": 3}, 18),
        ("geqrt", {"m": 9, "n": 3}, 2 * 9 * 9 - 18),
        ("gemqrt", {"m": 7, "n": 3, "k": 2}, 4 * 7 * 3 * 2 - 2 * 3 * 4),
        ("tpqrt", {"m": 7, "n": 3}, 126),
        ("tpmqrt", {"m": 7, "n": 3, "k": 2}, 168),
    ],
)
def test_rectangular_sizes(kernel, sizes, count):
    assert flop(kernel, **sizes) == pytest.approx(count)


def test_communication_has_no_operations():
    assert {*UNITS, *COLLECTIVES} == set(flop_kernels())
    assert [flop(kernel, bytes=8, ranks=4) for kernel in COLLECTIVES] == [0.0] * len(COLLECTIVES)


def test_arrays_give_arrays():
    assert flop("gemm", m=np.array([1, 2]), n=np.array([3, 4]), k=1).tolist() == [6, 16]


def test_unknown_kernels_and_missing_sizes():
    with pytest.raises(InputError, match="flop: unknown kernel 'gem', did you mean 'gemm'"):
        flop("gem", n=2)
    with pytest.raises(InputError, match="flop of gemm: n, k missing; needs m, n, k"):
        flop("gemm", m=2)


@pytest.mark.parametrize("tiles", [1, 2, 7])
@pytest.mark.parametrize(("name", "factor"), [("cholesky", 1), ("lu", 2), ("qr", 4)])
def test_tiles_do_as_many_operations_as_the_whole_matrix(name, factor, tiles):
    graph = generate(name, tiles=tiles, tile_size=30)
    assert task_flop(graph).sum() == pytest.approx(factor * (30 * tiles) ** 3 / 3)


def test_tall_qr_does_6pq2_minus_2q3_units():
    p, q, b = 9, 4, 30
    graph = generate("qr", rows=p, columns=q, tile_size=b)
    assert task_flop(graph).sum() == pytest.approx((6 * p * q**2 - 2 * q**3) * b**3 / 3)


def test_unknown_counts_are_nan():
    g = GraphBuilder("mixed")
    g.insert("gemm", m=1, n=2, k=3)
    g.insert("fft", n=4)
    g.insert("potrf", size=4)
    counts = task_flop(g.build())
    assert counts[0] == 12
    assert np.isnan(counts[1:]).all()


def test_a_parameter_says_it_where_there_is_one():
    builder = GraphBuilder("mine")
    builder.insert("gemm", m=2, n=2, k=2, flop=7)
    builder.insert("gemm", m=2, n=2, k=2, flop=9)
    builder.insert("other")
    assert task_flop(builder.build()).tolist() == pytest.approx([7, 9, math.nan], nan_ok=True)
