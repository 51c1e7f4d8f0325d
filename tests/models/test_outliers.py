"""Outliers: far out, and rare over runs."""

from __future__ import annotations

import numpy as np
import pytest

from tasksim.models.kinds.history import HistoryModel
from tasksim.models.kinds.linear import LinearModel
from tasksim.models.quantiles import inliers
from tasksim.models.samples import Samples

RUNS = 9
OF_A_RUN = 40


def runs_with(stalls, short=1.0, n=64.0):
    """Return samples of nine runs of forty tasks; run r has a first task of stalls[r] seconds."""
    rng = np.random.default_rng(0)
    durations = short * rng.uniform(1.0, 1.2, (RUNS, OF_A_RUN))
    durations[:, 0] = [short if stall is None else stall for stall in stalls]
    runs = np.repeat(np.arange(RUNS), OF_A_RUN)
    return Samples(("n",), np.full((RUNS * OF_A_RUN, 1), n), durations.ravel(), runs)


def dropped(samples, fence=3.0):
    kept = inliers(samples, samples.configurations()[1], fence)
    return np.flatnonzero(~kept).tolist()


def test_what_is_long_in_most_runs_is_kept():
    assert dropped(runs_with([9.0] * 5 + [None] * 4)) == []


def test_what_is_long_in_few_runs_is_dropped():
    assert dropped(runs_with([9.0] * 4 + [None] * 5)) == [0, 40, 80, 120]


def test_what_is_longer_than_in_most_runs_is_dropped():
    assert dropped(runs_with([9.0] * 7 + [10.0, 50.0])) == [280, 320]


@pytest.mark.parametrize("runs", [None, np.full(RUNS * OF_A_RUN, -1), np.arange(360) // 90])
def test_without_five_runs_the_fence_alone_decides(runs):
    given = runs_with([9.0] * RUNS)
    samples = Samples(given.names, given.parameters, given.durations_s, runs)
    assert dropped(samples) == [40 * run for run in range(RUNS)]


def test_nothing_short_is_kept_for_being_usual():
    samples = runs_with([0.01] * RUNS)
    assert dropped(samples) == [40 * run for run in range(RUNS)]


def test_all_count_without_a_fence():
    assert dropped(runs_with([99.0] + [None] * 8), fence=None) == []


def test_a_linear_model_predicts_the_time_of_a_usual_run():
    parts = [runs_with([30.0 * n] * RUNS, short=n, n=n) for n in (1.0, 2.0, 4.0)]
    runs = np.concatenate([part.runs + RUNS * i for i, part in enumerate(parts)])
    together = Samples.concat(parts)
    samples = Samples(together.names, together.parameters, together.durations_s, runs)
    model = LinearModel("n - 1").fit(samples)
    usual = np.mean([part.durations_s.mean() / n for part, n in zip(parts, (1, 2, 4), strict=True)])
    assert usual > 1.8  # two fifths of the time is in one task of forty
    # The worst of the largest size exceeds the median run's: one third of the runs lose theirs.
    assert model.predict([[1.0], [2.0]]).tolist() == pytest.approx([usual, 2 * usual], rel=0.2)


def test_a_history_keeps_what_is_usual_in_its_quantiles():
    model = HistoryModel().fit(runs_with([9.0] * RUNS))
    assert model.dropped_.tolist() == [0]
    assert model.quantiles_[0, -1] == 9.0
    assert model.predict([[64.0]])[0] == pytest.approx(1.3, rel=0.02)
