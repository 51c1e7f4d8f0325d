"""Run effects: what whole runs differ by is found again in samples that were made with it."""

import numpy as np
import pytest

from tasksim.base.documents.json_document import FormatError, JsonNode
from tasksim.models.kinds.history import HistoryModel
from tasksim.models.samples import Samples
from tasksim.models.uncertainty.runeffects import RunEffect, run_effects


def _calibration(shared, own, runs=40, each=30, seed=0, kernels=("a", "b", "c")):
    rng = np.random.default_rng(seed)
    of_run = shared * rng.standard_normal(runs)
    samples = {}
    for kernel in kernels:
        factor = np.exp(of_run + own * rng.standard_normal(runs))
        noise = np.exp(0.1 * rng.standard_normal((runs, each)))
        durations = 1e-3 * factor[:, None] * noise
        table = np.full((runs * each, 1), 64.0)
        samples[kernel] = Samples(("n",), table, durations.ravel(), np.repeat(range(runs), each))
    models = {kernel: HistoryModel().fit(of) for kernel, of in samples.items()}
    return samples, models


@pytest.mark.parametrize(("shared", "own"), [(0.05, 0.0), (0.0, 0.05), (0.04, 0.03), (0.0, 0.0)])
def test_variances_are_found_again(shared, own):
    """But for what taking negative estimates for 0 adds."""
    found = np.array(
        [
            [
                (e.shared**2, e.own**2)
                for e in run_effects(*_calibration(shared, own, seed=s)).values()
            ]
            for s in range(40)
        ]
    ).mean(axis=(0, 1))
    assert found == pytest.approx([shared**2, own**2], rel=0.15, abs=1.5e-4)


def test_without_models_the_means_of_configurations_tell():
    samples, models = _calibration(0.05, 0.01)
    alone, known = run_effects(samples, {}), run_effects(samples, models)
    assert alone["a"].shared == pytest.approx(known["a"].shared, rel=0.05)


def test_of_one_kernel_all_is_shared():
    effect = run_effects(*_calibration(0.03, 0.03, kernels=("a",)))["a"]
    assert effect.own == 0
    assert effect.shared == pytest.approx(0.03 * 2**0.5, rel=0.35)


def test_one_run_that_was_held_up_is_no_usual_one():
    samples, models = _calibration(0.02, 0.0)
    held_up = {
        name: Samples(
            of.names, of.parameters, of.durations_s * np.where(of.runs == 7, 2.0, 1.0), of.runs
        )
        for name, of in samples.items()
    }
    assert run_effects(held_up, models)["a"].shared < 0.03


def test_each_kernel_shares_as_much_as_it_moves_with_others():
    """In slow runs one kernel takes 5 % longer, another 1 %."""
    of_run = np.random.default_rng(1).standard_normal(200)
    table = np.full((200, 1), 64.0)
    samples = {
        name: Samples(("n",), table, 1e-3 * np.exp(deviation * of_run), np.arange(200))
        for name, deviation in (("a", 0.05), ("b", 0.05), ("c", 0.01))
    }
    found = run_effects(samples, {})
    assert found["a"].shared == pytest.approx(0.05, rel=0.1)
    assert found["b"].shared == pytest.approx(0.05, rel=0.1)
    assert found["c"].shared == pytest.approx(0.01, rel=0.1)


def test_runs_in_one_mood_count_as_fewer():
    moods = np.repeat([0.05, -0.05], 50)
    durations = 1e-3 * np.exp(moods + 0.01 * np.random.default_rng(2).standard_normal(100))
    samples = {"a": Samples(("n",), np.full((100, 1), 64.0), durations, np.arange(100))}
    assert run_effects(samples, {"a": HistoryModel().fit(samples["a"])})["a"].runs < 10


@pytest.mark.parametrize("runs", [0, 1])
def test_one_run_tells_nothing(runs):
    samples, models = _calibration(0.05, 0.0, runs=1)
    if not runs:
        samples = {k: Samples(s.names, s.parameters, s.durations_s) for k, s in samples.items()}
    effect = run_effects(samples, models)["a"]
    assert effect == RunEffect(0.0, 0.0, runs)
    assert not effect.known


def test_json():
    effect = RunEffect(0.03, 0.01, 12)
    assert RunEffect.from_json(JsonNode(effect.to_json())) == effect
    with pytest.raises(FormatError, match="not negative"):
        RunEffect.from_json(JsonNode({"shared": -1.0, "own": 0.0, "runs": 3}))
