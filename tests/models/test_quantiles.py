from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasksim.base.errors import InputError
from tasksim.models.quantiles import (
    QUANTILE_LEVELS,
    draw,
    group_quantiles,
    mean_of_quantiles,
    within_fence,
)

DURATIONS = st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=30)


@given(st.lists(DURATIONS, min_size=1, max_size=4))
def test_quantiles_are_those_of_numpy(lists):
    groups = np.concatenate([np.full(len(values), i) for i, values in enumerate(lists)])
    order = np.random.default_rng(0).permutation(len(groups))
    found = group_quantiles(np.concatenate(lists)[order], groups[order])
    expected = [np.quantile(values, QUANTILE_LEVELS) for values in lists]
    assert np.allclose(found, expected, rtol=1e-12, atol=0)


def test_the_fence_by_hand():
    # Quartiles of 1..9: 3 and 7; the fence of width 3 ends at 7 times (7/3)^3 = 88.93.
    nine = np.arange(1.0, 10.0)
    assert within_fence(nine).all()
    for last, kept in ((88.9, True), (89.0, False)):
        values = np.append(nine[:-1], last)
        assert within_fence(values).tolist() == [True] * 8 + [kept]
    assert within_fence(np.append(nine[:-1], 16.3), fence=1.0)[-1]  # 7 times 7/3
    assert not within_fence(np.append(nine[:-1], 16.4), fence=1.0)[-1]
    for first, kept in ((0.49, True), (0.48, False)):  # quartiles 3 and 5.5: 3 / (5.5/3)^3
        values = np.append([3.0, 3.0, 6.0, 6.0, 4.0, 5.0, 3.5, 5.5], first)
        assert within_fence(values).tolist() == [True] * 8 + [kept]


@pytest.mark.parametrize("noise", [0.02, 0.3, 1.0])
def test_noise_is_no_outlier_however_much(noise):
    # In seconds, 0.2 % of the durations would be dropped at 0.3, the long ones, and 4 % at 1.
    drawn = np.exp(noise * np.random.default_rng(3).standard_normal((200, 100)))
    kept = within_fence(drawn.ravel(), np.repeat(np.arange(200), 100))
    assert kept.mean() >= 0.9999
    stalled = np.append(drawn[0], 100.0 * np.exp(noise * 5))
    assert not within_fence(stalled)[-1]


def test_small_groups_coarse_clocks_and_no_fence_keep_all():
    assert within_fence(np.array([1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 99.0])).all()
    assert within_fence(np.array([1.0] * 20 + [9.0])).all()
    assert within_fence(np.append(np.arange(1.0, 30.0), 999.0), fence=None).all()
    assert within_fence(np.array([])).shape == (0,)


def test_groups_are_judged_by_themselves():
    long = np.arange(100.0, 110.0)
    values = np.concatenate([long / 100, long, [100.0, 1.0]])
    groups = np.concatenate([np.zeros(10), np.ones(10), [0, 1]]).astype(np.intp)
    assert within_fence(values, groups).tolist() == [True] * 20 + [False, False]


@pytest.mark.parametrize("fence", [0, -1.0, "iqr"])
def test_a_fence_is_a_positive_number(fence):
    with pytest.raises(InputError, match="fence must be a positive number, or None"):
        within_fence(np.ones(3), fence=fence)


@given(DURATIONS)
def test_draws_stay_within_the_extremes_and_have_the_mean_of_the_quantiles(values):
    quantiles = group_quantiles(np.array(values), np.zeros(len(values), dtype=np.intp))
    draws = draw(quantiles, np.zeros(4000, dtype=np.intp), np.random.default_rng(1))
    assert min(values) * (1 - 1e-12) <= draws.min()
    assert draws.max() <= max(values) * (1 + 1e-12)
    # Five standard errors.
    error = 5 * draws.std() / np.sqrt(4000) + 1e-9 * max(values)
    assert abs(draws.mean() - mean_of_quantiles(quantiles)[0]) <= error


def test_draws_follow_the_quantiles():
    values = np.random.default_rng(0).lognormal(size=5000)
    quantiles = group_quantiles(values, np.zeros(5000, dtype=np.intp))
    draws = draw(quantiles, np.zeros(50_000, dtype=np.intp), np.random.default_rng(1))
    share_below = [(draws <= level).mean() for level in quantiles[0]]
    assert share_below == pytest.approx(QUANTILE_LEVELS, abs=0.01)
