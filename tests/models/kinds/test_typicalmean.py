"""The typical mean: rare stalls leave it alone, those of every run are in it."""

from __future__ import annotations

import numpy as np
import pytest

from tasksim.models.kinds.history import HistoryModel, typical_mean
from tasksim.models.quantiles import within_fence
from tasksim.models.samples import Samples


def typical(durations, runs):
    durations = np.asarray(durations, dtype=float)
    return typical_mean(durations, runs, within_fence(durations))


def test_a_stall_in_one_run_of_ten_leaves_it_alone():
    durations = np.ones(400)
    durations[17] = 100.0
    assert typical(durations, np.repeat(np.arange(10), 40)) == 1.0


def test_a_stall_in_every_run_is_in_it():
    durations = np.ones(400)
    durations[::40] = 9.0
    assert typical(durations, np.repeat(np.arange(10), 40)) == pytest.approx(1.2)


def test_short_runs_are_taken_together_in_blocks_of_thirty():
    rng = np.random.default_rng(0)
    durations = rng.exponential(size=6000)
    runs = np.repeat(np.arange(1000), 6)
    # The median of single runs of 6 would be 5 % short: exponential durations are skewed.
    assert typical(durations, runs) == pytest.approx(durations.mean(), rel=0.03)


@pytest.mark.parametrize("runs", [None, np.full(100, -1), np.zeros(100, dtype=int)])
def test_without_enough_runs_it_is_the_mean_without_outliers(runs):
    durations = np.linspace(1.0, 1.2, 100)
    durations[3] = 50.0
    kept = np.delete(durations, 3)
    assert typical(durations, runs) == pytest.approx(kept.mean())


def test_a_history_model_predicts_it():
    durations = np.ones(400)
    durations[::40] = 9.0
    samples = Samples(("n",), np.full((400, 1), 64.0), durations, np.repeat(np.arange(10), 40))
    model = HistoryModel().fit(samples)
    assert model.predict([[64.0]]).tolist() == [pytest.approx(1.2)]
    assert model.dropped_.tolist() == [0]  # quartiles coincide: nothing can be told apart
    assert HistoryModel(fence=None).fit(samples).predict([[64.0]])[0] == pytest.approx(1.2)
