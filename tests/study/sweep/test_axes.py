"""Axes and conditions: what a file may write, and what it cannot make anybody do."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksim.base.errors import InputError
from tasksim.base.numerals import values_of
from tasksim.study.sweep.axes import number_or_text
from tasksim.study.sweep.conditions import CellCondition

COLUMNS = [
    "graph",
    "scheduler",
    "seed",
    "graph.tiles",
    "a.size",
    "b.size",
    "platform.links.*.bandwidth",
]
LABELS = {"graph": "cholesky tiles=8", "scheduler": "lws", "seed": 1, "graph.tiles": 8}


@given(st.integers(0, 50), st.integers(0, 50), st.integers(1, 10))
def test_a_range_has_both_ends_and_all_steps_between(first, length, step):
    found = list(values_of(f"{first}..{first + length}:{step}"))
    assert found[0] == first
    assert all(b - a == step for a, b in itertools.pairwise(found))
    assert first + length - step < found[-1] <= first + length


@given(st.integers(1, 10**6), st.integers(0, 10**6))
def test_a_logarithmic_range_doubles(first, more):
    found = list(values_of(f"{first}..{first + more}:log"))
    assert found[0] == first
    assert all(b == 2 * a for a, b in itertools.pairwise(found))
    assert found[-1] <= first + more < 2 * found[-1]


def test_a_range_of_many_takes_no_memory():
    assert len(values_of("1..1000000000000000")) == 10**15


@pytest.mark.parametrize("text", ["20..8", "8..20:0", "0..8:log"])
def test_a_range_without_values_is_refused(text):
    with pytest.raises(ValueError, match="range"):
        values_of(text)


@pytest.mark.parametrize("text", ["8", "a..b", "8..", "8...20", "-1..2", "1e3..2", "8..20:x"])
def test_what_is_no_range_is_a_text(text):
    assert values_of(text) is None


@given(st.one_of(st.integers(), st.floats(allow_nan=False)))
def test_numbers_are_read_as_they_were_written(number):
    found = number_or_text(str(number))
    assert (found, type(found)) == (number, type(number))


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("tiles == 8", True),
        ("tiles * 2 > 16", False),
        ("4 < tiles <= 8", True),
        ("scheduler in ['lws', 'dmdas']", True),
        ("scheduler not in ('lws', 'dmdas')", False),
        ("not (seed == 1 and tiles % 4 == 0)", False),
        ("graph.tiles == 8 or seed > 7", True),
        ("-tiles < 0", True),
        ("size == 3", None),
        ("a.size == 3", True),
        ("`platform.links.*.bandwidth` == 'x2'", True),
    ],
)
def test_conditions_hold_or_do_not(text, holds):
    if holds is None:
        with pytest.raises(InputError, match=r"'size' may be a.size or b.size: write which"):
            CellCondition(text, COLUMNS)
    else:
        assert CellCondition(text, COLUMNS).holds(LABELS) is holds


def test_of_cells_without_a_setting_nothing_is_said():
    assert CellCondition("a.size > 3", COLUMNS).holds(LABELS)
    assert not CellCondition("a.size > 3", COLUMNS).holds({**LABELS, "a.size": 3})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tils == 8", "unknown column 'tils', did you mean 'tiles'"),
        ("scheduler == lws", "unknown column 'lws'"),
        ("tiles =< 8", "'tiles =< 8' is no condition"),
        ("", "'' is no condition"),
        ("open('x')", "legal are columns, numbers"),
        ("__import__('os').system('touch EXECUTED')", "legal are columns, numbers"),
        ("().__class__", "unknown column"),
        ("[x for x in 'a']", "legal are columns, numbers"),
        ("9**9**9**9", "legal are columns, numbers"),
        ("lambda: 1", "legal are columns, numbers"),
        ("f'{tiles}'", "legal are columns, numbers"),
        ("(" * 400 + "1" + ")" * 400, "at most 500 characters"),
        ("-" * 400 + "1", None),
    ],
)
def test_what_is_no_condition_is_refused(text, said):
    if said is None:
        assert CellCondition(text, COLUMNS).holds(LABELS)
        return
    with pytest.raises(InputError) as caught:
        CellCondition(text, COLUMNS)
    assert said in str(caught.value)


@pytest.mark.parametrize("text", ["tiles < 'a'", "scheduler * 10 == 1", "seed / 0 > 1", "'a' in 3"])
def test_values_that_cannot_be_compared_are_told(text):
    with pytest.raises(InputError, match="where: "):
        CellCondition(text, COLUMNS).holds(LABELS)
