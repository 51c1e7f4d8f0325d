"""Student's interval of a mean."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from tasksim.calibration.precision import relative_half_width

DURATIONS = st.lists(st.floats(1e-6, 1e3), min_size=2, max_size=30)


@given(DURATIONS, st.sampled_from([0.8, 0.95, 0.99]))
def test_it_is_that_of_scipy(durations_s, confidence):
    mean, error = np.mean(durations_s), scipy.stats.sem(durations_s)
    low, high = scipy.stats.t.interval(confidence, len(durations_s) - 1, mean, max(error, 1e-300))
    assert relative_half_width(durations_s, confidence) == pytest.approx(
        (high - low) / 2 / mean, abs=1e-9
    )


def test_a_published_quantile():
    """t(0.975, 4) = 2.776, from any printed table; five values of standard deviation 1."""
    values = 10 + np.array([-2.0, -1.0, 0.0, 1.0, 2.0]) / math.sqrt(2.5)
    assert relative_half_width(values) == pytest.approx(2.776 / math.sqrt(5) / 10, rel=1e-3)


@pytest.mark.parametrize("values", [[], [1.0]])
def test_one_sample_says_nothing(values):
    assert relative_half_width(values) == math.inf


def test_equal_samples_leave_no_doubt():
    assert relative_half_width([0.5, 0.5, 0.5]) == 0.0
