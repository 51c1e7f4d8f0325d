"""Quantities: what is read, what is refused and how, what is written."""

from __future__ import annotations

import doctest
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksim.base import units
from tasksim.base.errors import InputError
from tasksim.base.units import (
    exact_quantity,
    format_bandwidth,
    format_size,
    format_time,
    parse_quantity,
    unit_names,
)

DIMENSIONS = ["time", "size", "bandwidth", "flop_rate"]


def test_examples_in_the_docstrings_hold():
    assert doctest.testmod(units).failed == 0


@pytest.mark.parametrize(
    ("text", "dimension", "expected"),
    [
        ("3 s", "time", 3.0),
        ("1.5 ms", "time", 1.5e-3),
        ("10 us", "time", 1e-5),
        ("10 µs", "time", 1e-5),
        ("10 \u03bcs", "time", 1e-5),
        ("250ns", "time", 2.5e-7),
        ("2 min", "time", 120.0),
        ("0.5 h", "time", 1800.0),
        ("-4 ms", "time", -0.004),
        ("1e3 us", "time", 1e-3),
        (".5 s", "time", 0.5),
        ("17 B", "size", 17.0),
        ("2 kB", "size", 2e3),
        ("2 MB", "size", 2e6),
        ("2 GB", "size", 2e9),
        ("2 TB", "size", 2e12),
        ("2 KiB", "size", 2048.0),
        ("2 MiB", "size", 2.0**21),
        ("128 GiB", "size", 2.0**37),
        ("1 TiB", "size", 2.0**40),
        ("12.5 GB/s", "bandwidth", 12.5e9),
        ("1 GiB/s", "bandwidth", 2.0**30),
        ("30 Gflop/s", "flop_rate", 30e9),
        ("x2", "factor", 2.0),
        ("×1.5", "factor", 1.5),
        ("1.5", "factor", 1.5),
        (1.5, "factor", 1.5),
        (3, "factor", 3.0),
        (0, "time", 0.0),
        (0.0, "size", 0.0),
        ("0", "bandwidth", 0.0),
    ],
)
def test_reads(text, dimension, expected):
    assert parse_quantity(text, dimension) == expected


TIME_UNITS = "ns, us, ms, s, min, h"
SIZES = "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB"
BANDWIDTHS = "B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, TiB/s"


@pytest.mark.parametrize(
    ("value", "dimension", "message"),
    [
        (
            "12 GBs",
            "bandwidth",
            "'12 GBs' is not a bandwidth: write e.g. '12.5 GB/s'; "
            f"legal units: {BANDWIDTHS}, did you mean 'GB/s'?",
        ),
        (
            "12 GB",
            "bandwidth",
            "'12 GB' is not a bandwidth: write e.g. '12.5 GB/s'; "
            f"legal units: {BANDWIDTHS}, did you mean 'GB/s'?",
        ),
        (
            "5 MS",
            "time",
            f"'5 MS' is not a time: write e.g. '10 us'; legal units: {TIME_UNITS}, did you mean "
            "'ms'?",
        ),
        ("soon", "time", f"'soon' is not a time: write e.g. '10 us'; legal units: {TIME_UNITS}"),
        (True, "time", f"True is not a time: write e.g. '10 us'; legal units: {TIME_UNITS}"),
        (None, "size", f"None is not a size: write e.g. '4.7 GiB'; legal units: {SIZES}"),
        (float("nan"), "time", f"nan is not a time: write e.g. '10 us'; legal units: {TIME_UNITS}"),
        (
            12,
            "time",
            f"12 has no unit and could be any of {TIME_UNITS}: write e.g. '10 us' "
            "(only 0 needs none, it is the same in all of them)",
        ),
        (
            "4.7",
            "size",
            f"4.7 has no unit and could be any of {SIZES}: write e.g. '4.7 GiB' "
            "(only 0 needs none, it is the same in all of them)",
        ),
        ("twice", "factor", "'twice' is not a factor: write e.g. '1.5' or 'x1.5'"),
        (float("inf"), "factor", "inf is not a factor: write e.g. '1.5' or 'x1.5'"),
        ("1e999 s", "time", "'1e999 s' is too large: the largest number is about 1.8e308"),
        ("1e308 TB", "size", "'1e308 TB' is too large: the largest number is about 1.8e308"),
    ],
)
def test_refuses(value, dimension, message):
    with pytest.raises(InputError) as refused:
        parse_quantity(value, dimension)
    assert str(refused.value) == message


def test_absurd_exponents_cost_nothing():
    assert parse_quantity("1e-999999999 s", "time") == 0.0


@given(st.decimals(-(10**9), 10**9, places=6), st.sampled_from(DIMENSIONS), st.data())
def test_reads_the_nearest_float(number, dimension, data):
    unit = data.draw(st.sampled_from(unit_names(dimension)))
    scale = Fraction(parse_quantity(f"1000000000 {unit}", dimension)) / 10**9
    if scale.denominator == 1:
        expected = float(Fraction(number) * scale)
        assert parse_quantity(f"{number} {unit}", dimension) == expected


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([*DIMENSIONS, "factor"]))
def test_what_is_written_exactly_reads_back_the_same(value, dimension):
    assert parse_quantity(exact_quantity(value, dimension), dimension) == value


@pytest.mark.parametrize(
    ("value", "dimension", "text"),
    [
        (0.0, "time", "0 s"),
        (1e-5, "time", "10 us"),
        (0.1 + 0.2, "time", "300.00000000000004 ms"),
        (5400.0, "time", "5400 s"),
        (2.0**37, "size", "128 GiB"),
        (1e9, "size", "1 GB"),
        (12.5e9, "bandwidth", "12.5 GB/s"),
        (1.5, "factor", "1.5"),
    ],
)
def test_exact_texts_are_short(value, dimension, text):
    assert exact_quantity(value, dimension) == text


def test_only_finite_values_are_written():
    with pytest.raises(InputError, match="inf is not a time: only finite values can be written"):
        exact_quantity(float("inf"), "time")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (3e-17, "0 s"),
        (1.2e-9, "1.2 ns"),
        (0.5e-9, "0.5 ns"),
        (60e-6, "60 us"),
        (0.0123, "12.3 ms"),
        (0.9999, "1 s"),
        (999.4, "999 s"),
        (1234, "1234 s"),
        (9000, "9000 s"),
        (35999, "35999 s"),
        (36000, "10 h"),
        (45270, "12 h 34 min"),
        (359969, "99 h 59 min"),
        (359970, "4 d 4 h"),
        (2844748, "32 d 22 h"),
        (-2764800, "-32 d"),
        (1e9, "1e+09 s"),
        (-0.0123, "-12.3 ms"),
        (float("inf"), "inf s"),
    ],
)
def test_times_for_people(seconds, text):
    assert format_time(seconds) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (4.7 * 2**30, "4.7 GiB"), (2**52, "4096 TiB")],
)
def test_sizes_for_people(size, text):
    assert format_size(size) == text


@pytest.mark.parametrize(
    ("bandwidth", "text"),
    [(0, "0 B/s"), (12.5e9, "12.5 GB/s"), (999, "999 B/s"), (3e15, "3000 TB/s")],
)
def test_bandwidths_for_people(bandwidth, text):
    assert format_bandwidth(bandwidth) == text


@given(st.floats(1e-9, 35999))
def test_times_for_people_keep_three_digits(seconds):
    assert parse_quantity(format_time(seconds), "time") == pytest.approx(seconds, rel=0.0051)


def test_huge_numbers_of_numpy_are_written_without_a_warning():
    assert format_time(np.float64(1e300)).endswith("e+300 s")


@pytest.mark.parametrize("value", [10**400, "1e" + "9" * 30, "9" * 500, float("inf"), "1e400 s"])
def test_numbers_beyond_floats_are_refused(value):
    with pytest.raises(InputError, match=r"is not a time|too large"):
        parse_quantity(value, "time")


@pytest.mark.parametrize("text", ["010 us", "1_0 us", "00.5 s", "+01 s", "1:30 s", "\u0661 s"])
def test_what_only_python_or_yaml_takes_for_a_number_is_none(text):
    with pytest.raises(InputError, match="is not a time"):
        parse_quantity(text, "time")
    number = text.split()[0]
    with pytest.raises(InputError, match="is not a factor"):
        parse_quantity(number, "factor")
    assert parse_quantity("0.5 s", "time") == parse_quantity(".5 s", "time") == 0.5
