"""Noise by duration: what makes a short task long is little to a long one."""

import json

import numpy as np
import pytest

from tasksim.base.documents.json_document import to_data
from tasksim.models.kinds.linear import LinearModel
from tasksim.models.registry import from_json
from tasksim.models.samples import Samples
from tasksim.models.uncertainty.conformal import calibrate
from tasksim.models.uncertainty.intervals import LEVELS, ByDuration
from tasksim.models.uncertainty.tasknoise import noise_of


def _stalled(count=2000, seed=0):
    """Tasks of 10 us to 10 ms, of which one in a hundred waits for 4 ms."""
    rng = np.random.default_rng(seed)
    n = np.round(10 ** rng.uniform(1, 4, count))
    durations = 1e-6 * n * np.exp(0.05 * rng.standard_normal(count))
    durations += 4e-3 * (rng.random(count) < 0.01)
    return Samples(("n",), n[:, None], durations)


def test_long_tasks_do_not_take_400_times_as_long():
    samples = _stalled()
    model = LinearModel(terms="n").fit(samples)
    calibrate(model, samples)
    rows = np.repeat([[20.0], [8000.0]], 20_000, axis=0)
    factors = noise_of(model, rows)(np.random.default_rng(1), np.ones(len(rows)))
    short, long = factors[:20_000], factors[20_000:]
    assert short.max() > 30
    assert long.max() < 4
    assert factors.mean() == pytest.approx(1, abs=0.1)


def test_of_few_samples_all_have_one_noise():
    assert ByDuration.of(np.zeros(199), np.ones(199)) is None


def test_tasks_of_one_duration_are_one_part():
    residual = np.random.default_rng(0).standard_normal(800)
    found = ByDuration.of(residual, np.full(800, 1e-3))
    assert found.centers_s == pytest.approx([1e-3])
    assert found(np.array([1e-6, 1.0]))[0, LEVELS.index(0.5)] == pytest.approx(
        np.median(residual), abs=0.05
    )


def test_files_say_the_same_again():
    samples = _stalled()
    model = LinearModel(terms="n").fit(samples)
    calibrate(model, samples)
    again = from_json(json.loads(json.dumps(to_data(model.to_json()))))
    at = np.array([1e-5, 1e-4, 1e-2])
    first, second = model.uncertainty_.by_duration, again.uncertainty_.by_duration
    assert second(at) == pytest.approx(first(at))
