"""Piecewise fits: break points that are there are found, and none that are not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasksim.base.errors import InputError
from tasksim.calibration.fit_pieces import fit_pieces, relative_errors

SIZES = [round(2 ** (k / 2)) for k in range(6, 48)]


def noisy(seconds, seed, level=0.01):
    """Return *seconds* with relative noise."""
    return [s * (1 + level * e) for s, e in zip(seconds, drawn(seed, len(seconds)), strict=True)]


def drawn(seed, count):
    return np.random.default_rng(seed).standard_normal(count)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.floats(1e-7, 1e-4), st.floats(1e-11, 1e-8))
def test_one_line_stays_one_line(seed, latency_s, per_byte_s):
    lines = fit_pieces(SIZES, noisy([latency_s + per_byte_s * s for s in SIZES], seed))
    assert len(lines) == 1


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.sampled_from(SIZES[8:-8]))
def test_a_jump_is_found_where_it_is(seed, at):
    taken = [1e-6 + 2e-10 * s if s <= at else 2e-5 + 4e-10 * s for s in SIZES]
    lines = fit_pieces(SIZES, noisy(taken, seed))
    assert at in [line.above_bytes for line in lines]
    assert np.median(np.abs(relative_errors(lines, SIZES, taken))) < 0.01


def test_latencies_and_rates_are_never_negative():
    lines = fit_pieces([1, 2, 4, 8, 16, 32], [6e-6, 5e-6, 4e-6, 3e-6, 2e-6, 1e-6])
    assert all(line.latency_s > 0 and line.per_byte_s > 0 for line in lines)


def test_two_sizes_are_too_few():
    with pytest.raises(InputError, match="2 sizes"):
        fit_pieces([1, 2], [1e-6, 2e-6])
