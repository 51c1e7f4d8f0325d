"""Numerals: what is a number, and what only looks like one."""

from __future__ import annotations

import doctest

import pytest

from tasksim.base import numerals
from tasksim.base.numerals import decimal_number, plain_float, whole_number


def test_examples_in_the_docstrings_hold():
    assert doctest.testmod(numerals).failed == 0


@pytest.mark.parametrize("text", ["0", "-0", "+7", "10", "9" * 40])
def test_whole_numbers(text):
    assert whole_number(text) == int(text)
    assert decimal_number(text) == float(text)


@pytest.mark.parametrize("text", ["0.5", ".5", "5.", "1e3", "-1.5E-7", "0.00000001"])
def test_decimal_numbers(text):
    assert whole_number(text) is None
    assert decimal_number(text) == float(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " 1",
        "010",
        "00",
        "1_0",
        "0x10",
        "1:30",
        "\u0663",
        "\uff11",
        "nan",
        "inf",
        "1e400",
        "1e",
        "1,5",
    ],
)
def test_no_numbers(text):
    assert whole_number(text) is None
    assert decimal_number(text) is None


def test_thousands_of_digits_are_no_number():
    assert whole_number("1" * 5000) is None
    assert decimal_number("1" * 5000) is None
    assert decimal_number("1e" + "9" * 100) is None


@pytest.mark.parametrize("text", ["1_0", "\u0663"])
def test_tables_of_tools_have_plain_numbers(text):
    with pytest.raises(ValueError, match=text):
        plain_float(text)
    assert plain_float("007.5") == 7.5
