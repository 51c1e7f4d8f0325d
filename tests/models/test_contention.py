"""Slowdown of a kernel by its neighbours in coefficient files."""

from __future__ import annotations

import json

import pytest

from tasksim.base.errors import InputError
from tasksim.models.contention import Contention


def test_json_and_back():
    known = Contention(2e9, 0.25, {"gemm": (1.0, 1.5), "lacpy": (2.0,)})
    assert Contention.from_json(json.loads(json.dumps(known.to_json()))) == known


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"demand_bytes_per_s": -1}, r"demand_bytes_per_s must be at least 0 \(got -1\)"),
        ({"demand_bytes_per_s": "1"}, "demand_bytes_per_s must be at least 0"),
        ({"memory_share": 1.5}, r"memory_share must be from 0 to 1 \(got 1.5\)"),
        ({"memory_share": float("nan")}, "memory_share must be from 0 to 1"),
        ({"beside": {"gemm": [0.9]}}, r"beside gemm: factors of at least 1 \(got \[0.9\]\)"),
        ({"beside": {"gemm": []}}, "beside gemm: factors of at least 1"),
        ({"beside": {"gemm": 1.5}}, "beside: kernel -> a list of factors"),
        ({"share": 0.5}, "contention: .*share"),
    ],
)
def test_what_is_no_contention(change, what):
    with pytest.raises(InputError, match=what):
        Contention.from_json({**Contention().to_json(), **change})
