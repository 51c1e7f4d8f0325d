"""Differences: intervals by hand, against enumeration and the normal case; who is named."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from tasksim.study.report.differences import differences, intervals, leading_shares


def test_a_constant_factor_has_no_width():
    (found,) = differences(np.log([[2.0, 3.0], [4.0, 6.0], [1.0, 1.5]]), ["a", "b"])
    assert (found.faster, found.slower, found.is_sure) == ("a", "b", True)
    assert [found.relative, found.low, found.high] == pytest.approx([0.5, 0.5, 0.5])


def test_the_same_is_not_sure():
    log_s = np.log([[2.0, 2.0], [4.0, 4.0], [1.0, 1.0]])
    (found,) = differences(log_s, ["b", "a"])
    assert (found.faster, found.relative, found.is_sure) == ("a", 0.0, False)


def test_an_interval_is_that_of_all_resamples():
    """Of four values there are 256 resamples; what is drawn comes near to all of them."""
    values = np.array([0.0, 0.1, 0.3, 0.35])
    draws = np.array(list(product(values, repeat=4)))
    errors = draws.std(axis=1) / np.sqrt(3)
    most = stats.t.isf(1 / 9999, 3)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.clip(np.nan_to_num((draws.mean(axis=1) - values.mean()) / errors), -most, most)
    high, low = np.quantile(t, [0.1, 0.9])
    spread = values.std(ddof=1) / 2
    expected = [values.mean() - low * spread, values.mean() - high * spread]
    assert intervals(values[:, None], 0.8)[0] == pytest.approx(expected, rel=0.05)


def test_of_many_normal_values_it_is_students():
    values = np.random.default_rng(5).normal(size=400)
    t = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    assert intervals(values[:, None])[0] == pytest.approx([t.low, t.high], abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(("blocks", "low", "high"), [(6, 0.93, 0.97), (12, 0.93, 0.97)])
def test_as_many_intervals_hold_the_truth_as_they_say(blocks, low, high):
    values = np.random.default_rng(7).normal(1.0, 1.0, size=(blocks, 1500))
    ends = intervals(values)
    assert low < ((ends[:, 0] <= 1.0) & (ends[:, 1] >= 1.0)).mean() < high


def test_ends_are_finite_where_few_values_differ():
    ends = intervals(np.array([[0.0], [0.0], [0.0], [0.0], [0.0], [0.5]]))
    assert np.isfinite(ends).all()
    assert ends[0, 0] < 0.0


def test_what_all_have_in_common_cancels_out():
    """Common random numbers: the noise of a block moves all schedulers alike."""
    rng = np.random.default_rng(3)
    noise = rng.normal(0.0, 0.5, size=(20, 1))
    own = rng.normal(0.0, 0.001, size=(20, 2))
    (found,) = differences(noise + own + [0.0, 0.01], ["a", "b"])
    assert found.is_sure
    assert found.relative == pytest.approx(0.01, abs=0.001)


def test_any_two_are_there_once_the_faster_first():
    log_s = np.log(np.tile([3.0, 1.0, 2.0], (6, 1)))
    found = differences(log_s, ["c", "a", "b"])
    assert [(d.faster, d.slower) for d in found] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [d.relative for d in found] == pytest.approx([1.0, 2.0, 0.5])


def test_shares_of_the_lead_are_those_of_chance():
    rng = np.random.default_rng(11)
    log_s = rng.normal(size=(40, 2))
    log_s -= log_s.mean(axis=0)
    shares = leading_shares(log_s, ["a", "b"])
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares["a"] == pytest.approx(0.5, abs=0.05)
