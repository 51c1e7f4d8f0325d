"""Steered measuring, of kernels whose truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from made_calibrations import here

from tasksim.base.errors import InputError
from tasksim.calibration import steering as module
from tasksim.calibration.calibration_options import CalibrationOptions
from tasksim.calibration.kernel_samples import KernelSamples
from tasksim.calibration.kernels_under_load import KernelCall
from tasksim.calibration.steering import (
    MIN_BURSTS,
    Steered,
    Steering,
    configurations_of,
    measure_steered,
)
from tasksim.calibration.timed_executions import ExecutionTimes
from tasksim.graph.apps.registry import generate
from tasksim.models.files.store import load_kernel
from tasksim.platform.description import Platform
from tasksim.scenario.public import simulate

CHOLESKY = generate("cholesky", tiles=6, tile_size=32)
DURATIONS_S = {"potrf": 1e-3, "trsm": 3e-3, "syrk": 3e-3, "gemm": 6e-3}
OF_A_BURST = 4
WORKERS = 3


class Truth:
    """Measures made-up kernels: log-normal bursts around their means."""

    def __init__(self, noise, seed=0, fail_at=None):
        self._noise, self._rng = noise, np.random.default_rng(seed)
        self._fail_at, self.calls = fail_at, []

    def __call__(self, kernel):
        if len(self.calls) == self._fail_at:
            raise KeyboardInterrupt
        self.calls.append(kernel.name)
        noise = self._noise[kernel.name] if isinstance(self._noise, dict) else self._noise
        factors = np.exp(noise * self._rng.standard_normal(OF_A_BURST) - noise**2 / 2)
        durations = DURATIONS_S[kernel.name] * factors
        return ExecutionTimes(durations, durations, np.ones(len(durations))), float(durations.sum())


def measured(truth, until=0.02, graph=CHOLESKY, seconds=1e9, collected=None):
    """Return what steered measuring came to, and the samples."""
    found, collected = Steered(until), collected or KernelSamples()
    options = CalibrationOptions(max_seconds=seconds)
    measure_steered(graph, WORKERS, collected, options, found, lambda *_: None, truth)
    return found, collected


def true_makespan_s():
    return simulate(CHOLESKY, models=DURATIONS_S, workers=WORKERS, scheduler="lws").makespan_s


def test_configurations_are_those_of_the_tasks():
    found, of_task = configurations_of(CHOLESKY)
    assert [one.kernel for one in found] == ["potrf", "trsm", "syrk", "gemm"]
    assert str(found[3]) == "gemm (m=32, n=32, k=32)"
    assert np.bincount(of_task).tolist() == [6, 15, 15, 20]


def test_the_makespan_is_known_as_well_as_asked():
    errors = []
    for seed in range(10):
        found, _ = measured(Truth(0.1, seed), until=0.04)
        assert found.prevented is None
        assert found.half_width <= 0.04
        errors.append(abs(found.makespan_s / true_makespan_s() - 1))
    # 95 % are to be within 4 %, and simulated noise makes runs a little longer than their means.
    assert np.quantile(errors, 0.7) < 0.04


def test_what_matters_is_measured():
    found, _ = measured(Truth(0.3), until=0.04)
    counts = {name.split()[0]: count for name, count in found.bursts.items()}
    assert counts["gemm"] > 1.5 * counts["syrk"]
    assert counts["potrf"] < counts["gemm"] / 3
    assert found.path_share["gemm (m=32, n=32, k=32)"] > found.path_share["potrf (n=32)"]


def test_it_takes_less_than_knowing_every_kernel_as_well():
    found, _ = measured(Truth(0.2), until=0.03)
    truth, uniform_s = Truth(0.2, seed=1), 0.0
    for kernel in DURATIONS_S:
        means = []
        while len(means) < MIN_BURSTS or 1.96 * np.std(means, ddof=1) > 0.03 * np.mean(
            means
        ) * np.sqrt(len(means)):
            times, seconds = truth(KernelCall(kernel))
            means.append(times.own_s.mean())
            uniform_s += seconds
    assert found.seconds < uniform_s / 1.2


def test_bursts_that_are_slow_together_count_for_less():
    steering = Steering(CHOLESKY, Platform.identical(1), 0.02)
    one = steering.configurations[0]
    for burst in range(64):
        steering.add(one, np.full(2, 1.0 + 0.5 * (burst // 8 % 2)), 1.0)
    alone = steering.known().deviation[0]
    assert alone == pytest.approx(2 * 0.25 / 1.25, rel=0.05)  # of fours, 0.25 apart: twice as far


def test_no_variance_is_known_at_once():
    found, _ = measured(Truth(0.0))
    assert set(found.bursts.values()) == {MIN_BURSTS}
    assert found.half_width < 1e-12
    assert found.prevented is None
    assert found.makespan_s == pytest.approx(true_makespan_s(), rel=0.05)  # ties


def test_what_was_measured_earlier_counts():
    first, again = Truth(0.1), Truth(0.1, seed=1)
    _, collected = measured(first)
    found, _ = measured(again, collected=collected)
    assert found.prevented is None
    assert len(again.calls) < len(first.calls)


def test_when_the_time_is_over_it_says_what_is_missing():
    found, _ = measured(Truth(0.3), until=0.001, seconds=0.3)
    assert found.half_width > 0.001
    assert "the time is over (0.3 s)" in found.prevented
    assert "% of the variance is due to gemm (m=32, n=32, k=32); about" in found.prevented
    assert found.to_json()["reached"] is False
    assert "not known to 0.1 %" in found.text()
    at_once, _ = measured(Truth(0.3), seconds=1e-9)
    assert "before each kernel was measured a few times" in at_once.prevented
    assert at_once.to_json()["half_width"] is None


def test_an_interrupted_calibration_keeps_what_it_has(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "Bursts", lambda workers, pin: Truth(0.1, fail_at=14))
    options = CalibrationOptions(makespan=0.001)
    report = here([CHOLESKY], tmp_path, options=options)
    assert report.interrupted
    assert report.steered.prevented == "interrupted"
    assert sum(report.steered.bursts.values()) == 14
    assert report.to_json()["makespan"]["reached"] is False
    known = load_kernel(tmp_path / "models" / "here" / "gemm.json").architectures["cpu"]
    assert known.measured.how == "by itself, 1 workers busy"


def test_a_calibration_says_what_it_came_to(monkeypatch, tmp_path):
    monkeypatch.setattr(module, "Bursts", lambda workers, pin: Truth(0.1))
    report = here([CHOLESKY], tmp_path, options=CalibrationOptions(makespan=0.05))
    assert "its mean known to" in report.table().splitlines()[-1]
    assert report.to_json()["makespan"]["reached"] is True


def test_durations_that_are_no_numbers_are_refused():
    for wrong in (np.nan, np.inf, -1.0):
        times = ExecutionTimes(np.array([wrong]), np.array([wrong]), np.ones(1))
        with pytest.raises(InputError, match="duration"):
            measured(lambda kernel, times=times: (times, 1.0))


@pytest.mark.parametrize("until", [0, 1, -0.1, 2.0, float("nan"), float("inf"), "2%", True])
def test_a_precision_is_a_share(until):
    with pytest.raises(InputError, match="legal: above 0 and below 1"):
        CalibrationOptions(makespan=until)


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (["chain length=2"], "these kernels cannot be measured alone"),
        ([CHOLESKY, CHOLESKY], "a makespan can steer"),
        ([KernelCall("potrf", {"n": 16})], "a makespan can steer"),
    ],
)
def test_what_cannot_be_steered_is_refused(items, message, tmp_path):
    with pytest.raises(InputError, match=message):
        here(items, tmp_path, options=CalibrationOptions(makespan=0.02))
    assert not list(tmp_path.iterdir())
