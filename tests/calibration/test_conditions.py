"""Conditions between the parameters of a domain."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksim.base.errors import InputError
from tasksim.calibration.application_campaign import parse_settings_domain
from tasksim.calibration.conditions import parse_condition
from tasksim.calibration.domain import parse_domain
from tasksim.calibration.domain_campaign import MeasureOptions

SMALL_INTEGERS = st.integers(-9, 9)


@pytest.mark.parametrize(
    "text",
    [
        "3 <= m*n <= 20", "m + n*2 > 7 and m != n", "(m + n)*2 == 12", "m - n - 1 >= 0",
        "-m < -2", "m % 3 == 0", "m / n > 1.5", "m/n*n == m and 2 < m < 5 <= n", "m*(n - (2-m))>9",
        "1e1 > m",
    ],
)  # fmt: skip
@given(st.lists(st.tuples(SMALL_INTEGERS, SMALL_INTEGERS), min_size=1, max_size=20))
def test_a_condition_holds_where_the_same_text_of_python_does(text, rows):
    table = np.array(rows, dtype=np.float64)
    columns = {"m": table[:, 0], "n": table[:, 1]}
    found = parse_condition(text, ("m", "n")).holds(columns).tolist()
    for (m, n), holds in zip(table, found, strict=True):
        with np.errstate(all="ignore"):
            assert holds == bool(eval(text, {"m": m, "n": n}))  # texts of this file


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "column 1: expected a number, a parameter, or '(', got the end"),
        ("m", "column 2: expected a comparison, < <= > >= == or !=, got the end"),
        ("m <", "column 4: expected a number, a parameter"),
        ("m < 3 n", "column 7: expected 'and', an operator, or the end, got 'n'"),
        ("m = 3", "column 3: unexpected '='"),
        ("m < q", "column 5: unknown parameter 'q' (known: m, n, kind)"),
        ("m*nn < 9", "column 3: unknown parameter 'nn', did you mean 'n'"),
        ("(m < 3", "column 4: expected ')', got '<'"),
        ("m < __import__('os')", "column 5: unknown parameter '__import__' (known: m, n, kind)"),
        ("m < n('os')", "column 6: expected 'and', an operator, or the end, got '('"),
        ("m.real < 3", "column 2: unexpected '.'"),
        ("m < 3 and", "column 10: expected a number"),
        ("and < 3", "column 1: expected a number, a parameter, or '(', got 'and'"),
        ("kind == rwo", "column 9: kind is compared with one of its names, did you mean 'row'"),
        ("kind == 1", "column 9: kind is compared with one of its names (row, col)"),
        ("kind < row", "column 8: kind holds names; legal: == and !="),
        ("kind*2 == 2", "column 1: kind holds names; legal: kind == NAME, or !="),
        ("m" * 600, "condition of 600 characters; legal: at most 500"),
    ],
)
def test_what_is_no_condition_is_told_by_its_column(text, message):
    with pytest.raises(InputError) as error:
        parse_condition(text, ("m", "n", "kind"), {"kind": ("row", "col")})
    assert message in str(error.value)


def test_names_are_compared():
    columns = {"kind": np.array([0.0, 1.0]), "m": np.array([1.0, 2.0])}
    for text, expected in (
        ("kind == row", [True, False]), ("col != kind and m < 9", [True, False]),
        ("kind == col and m == 2", [False, True]),
    ):  # fmt: skip
        condition = parse_condition(text, ("kind", "m"), {"kind": ("row", "col")})
        assert condition.holds(columns).tolist() == expected


@pytest.mark.parametrize("design", ["lhs", "random", "grid"])
def test_a_domain_has_only_configurations_that_fulfil_its_conditions(design):
    domain = parse_domain("gemm", ["m=8..200", "n=8..200", "k=8"]).where("64 <= m*n <= 512", "m<=n")
    table = domain.draw(50, 3, design)
    assert len(table)
    assert ((table[:, 0] * table[:, 1] <= 512) & (table[:, 0] <= table[:, 1])).all()
    if design != "grid":
        assert len(np.unique(table, axis=0)) == 50
    with pytest.raises(InputError, match=r"(no configuration of the grid|none of 327680.*) has 64"):
        domain.where("m <= 7").draw(5)
    with pytest.raises(InputError, match="unknown parameter 'q'"):
        domain.where("q <= 7")


def test_rare_configurations_are_found():
    domain = parse_domain("gemm", ["m=1..4000", "n=1..4000", "k=1..4000"]).where("m*n*k <= 1e7")
    assert len(domain.draw(20)) == 20


def test_settings_may_be_names():
    domain = parse_settings_domain(
        "fmm", ["particles=200..400", "distribution=cube,ellipsoid"], ["distribution != cube"]
    )
    assert domain.drawn.describe() == {
        "particles": "200..400", "distribution": "cube,ellipsoid",
    }  # fmt: skip
    found = domain.settings(MeasureOptions(samples=5))
    assert len(found) == 5
    assert {one["distribution"] for one in found} == {"ellipsoid"}
    both = parse_settings_domain("fmm", ["particles=200..400", "distribution=cube,ellipsoid"])
    drawn = both.settings(MeasureOptions(samples=9))
    assert {one["distribution"] for one in drawn} == {"cube", "ellipsoid"}
    with pytest.raises(InputError, match="got 'elipsoid', did you mean 'ellipsoid'"):
        parse_settings_domain("fmm", ["distribution=cube,elipsoid"])
    with pytest.raises(InputError, match="'particles > 3' is on settings that are drawn; none is"):
        parse_settings_domain("fmm", ["particles=5"], ["particles > 3"])
