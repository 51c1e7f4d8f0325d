"""Precision of means, and of the total time of a kernel's tasks."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from tasksim.calibration.precision import newest_runs, relative_half_width, runs_alike, total_time
from tasksim.models.samples import Samples

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


def of_runs(*runs, first=0):
    """Samples of runs, each a list of (parameter, duration in seconds)."""
    numbered = [(first + r, m, d) for r, tasks in enumerate(runs) for m, d in tasks]
    run, m, d = zip(*numbered, strict=True)
    return Samples(("m",), np.array(m, dtype=float)[:, None], d, run)


A = [(1, 0.25), (2, 0.5), (2, 0.25)]
B = [(1, 0.25), (2, 0.5)]


def lists(alike):
    return [numbers.tolist() for numbers in alike]


def test_runs_of_the_same_tasks_are_alike_in_whatever_order_these_ran():
    samples = of_runs(A, B, A[::-1], [(3, 1.0)], B)
    assert lists(runs_alike(samples)) == [[0, 2], [1, 4], [3]]


def test_how_often_a_configuration_occurs_tells_inputs_apart():
    samples = of_runs([(1, 1.0)], [(1, 1.0), (1, 1.0)])
    assert lists(runs_alike(samples)) == [[0], [1]]


def test_samples_of_unknown_runs_are_alike_to_none():
    assert runs_alike(Samples(("m",), [[1.0]], [1.0])) == []
    mixed = Samples(("m",), [[1.0]] * 3, [1.0] * 3, [-1, 0, 1])
    assert lists(runs_alike(mixed)) == [[0, 1]]
    assert total_time(Samples(("m",), [[1.0]], [1.0])).half_width == np.inf


def test_the_newest_runs_of_each_input_are_kept():
    samples = of_runs(A, B, A, A, B, A)
    assert np.unique(newest_runs(samples, 2).runs).tolist() == [1, 3, 4, 5]
    assert newest_runs(samples, 4) is samples
    kept = newest_runs(samples, 1)
    assert kept.parameters.ravel().tolist() == [1, 2, 1, 2, 2]
    mixed = Samples(("m",), [[1.0]] * 4, [1.0] * 4, [-1, -1, 0, 1])
    assert newest_runs(mixed, 1).runs.tolist() == [-1, -1, 1]


def test_the_total_of_one_input_has_the_interval_of_its_runs():
    """Configurations that differ by a factor 1000 do not matter: the runs do."""
    shifts = [0.9, 1.0, 1.1, 1.05]
    runs = [[(1, 1e-3 * s), (2, 1.0 * s), (3, 0.5 * s)] for s in shifts]
    found = total_time(of_runs(*runs))
    assert found.runs == 4
    assert found.mean_s == pytest.approx(1.501 * np.mean(shifts))
    assert found.half_width == pytest.approx(relative_half_width(shifts))


def test_noise_of_tasks_that_cancels_leaves_the_total_known():
    runs = [[(1, 1.0 + e), (2, 1.0 - e)] for e in (0.3, -0.2, 0.1, 0.0, -0.3)]
    assert total_time(of_runs(*runs)).half_width == pytest.approx(0.0, abs=1e-12)


def test_totals_of_several_inputs_are_added_up():
    """Welch: means of 10 and 2 s, their variances 1 and 1/4, one degree of freedom each."""
    from scipy.stats import t

    runs = [[(1, 9.0)], [(2, 1.5)], [(1, 11.0)], [(2, 2.5)]]
    found = total_time(of_runs(*runs))
    freedom = (1 + 1 / 4) ** 2 / (1 + 1 / 16)
    assert found.mean_s == 12
    assert found.half_width == pytest.approx(t.ppf(0.975, freedom) * np.sqrt(1.25) / 12)
    assert found.runs == 4


def test_one_run_of_an_input_leaves_everything_open():
    assert total_time(of_runs(A, A, A, B)).half_width == np.inf
    assert total_time(of_runs(A, A, A, B, B)).half_width == 0.0


def test_inputs_of_earlier_calibrations_count_where_they_are_run_again():
    samples = of_runs(B, A, A, A)
    assert total_time(samples, since=2).half_width == 0.0
    assert total_time(samples, since=2).runs == 3
    assert total_time(samples, since=0).half_width == np.inf
    assert total_time(samples, since=4).runs == 0


def test_an_outlier_counts_as_the_mean_of_its_configuration():
    calm = [[(1, 1.0 + 1e-3 * r), (2, 2.0)] for r in range(11)]
    stalled = [*calm, [(1, 50.0), (2, 2.0)]]
    assert total_time(of_runs(*stalled)).half_width == pytest.approx(
        total_time(of_runs(*calm)).half_width, rel=0.2
    )


@settings(deadline=None)
@given(
    st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=4), min_size=1, max_size=12),
    st.integers(1, 4),
)
def test_inputs_are_those_of_a_dictionary(runs, most):
    samples = of_runs(*[[(m, 1.0) for m in tasks] for tasks in runs])
    expected = {}
    for number, tasks in enumerate(runs):
        expected.setdefault(tuple(sorted(tasks)), []).append(number)
    assert sorted(lists(runs_alike(samples))) == sorted(expected.values())
    kept = sorted(number for numbers in expected.values() for number in numbers[-most:])
    assert np.unique(newest_runs(samples, most).runs).tolist() == kept


def test_coverage_is_what_it_says():
    """Of 400 calibrations of three inputs, 3 runs each, 95 % have the true total inside."""
    rng = np.random.default_rng(5)
    inside = 0
    for _ in range(400):
        runs = [[(m, m * rng.normal(1.0, 0.05))] for _ in range(3) for m in (1, 4, 10)]
        found = total_time(of_runs(*runs))
        inside += abs(found.mean_s / 15 - 1) < found.half_width * found.mean_s / 15
    assert 0.92 < inside / 400 <= 1.0
