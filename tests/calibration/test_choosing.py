"""Which measurement makes a model surest: against covariances written out."""

from __future__ import annotations

import numpy as np
import pytest

from tasksim.calibration.domain_steering import measured_at, off_by, worth


@pytest.fixture
def apart():
    return off_by(np.random.default_rng(0).standard_normal((7, 5)) @ np.diag([1, 2, 3, 0.1, 0]))


def covariance_left(apart, place, noise):
    """Return what the covariance is after a measurement, by Bayes."""
    covariance = apart.T @ apart
    column = covariance[:, place]
    return covariance - np.outer(column, column) / (column[place] + noise)


@pytest.mark.parametrize("place", range(5))
def test_what_is_left_is_bayes(apart, place):
    left = measured_at(apart, place, 0.3)
    np.testing.assert_allclose(left.T @ left, covariance_left(apart, place, 0.3), atol=1e-12)


def test_worth_is_by_how_much_variances_shrink_per_second(apart):
    seconds = np.array([1.0, 2.0, 0.5, 1.0, 1.0])
    shrunk = [np.trace(apart.T @ apart - covariance_left(apart, place, 0.3)) for place in range(5)]
    np.testing.assert_allclose(worth(apart, 0.3, seconds), np.array(shrunk) / seconds, atol=1e-12)


def test_of_means_apart_from_each_other_it_is_what_steers_calibrations():
    variance, count = 0.04, np.array([5, 9, 20])
    apart = np.diag(np.sqrt(variance / count))
    seconds = np.array([1.0, 3.0, 0.1])
    expected = variance / (count * (count + 1) * seconds)
    np.testing.assert_allclose(worth(apart, variance, seconds), expected)


def test_what_is_known_exactly_is_worth_nothing():
    known = np.zeros((4, 3))
    assert worth(known, 0.0, np.ones(3)).tolist() == [0, 0, 0]
    assert measured_at(known, 1, 0.0) is known
