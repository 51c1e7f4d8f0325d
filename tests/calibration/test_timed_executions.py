"""Executions of kernels by themselves, of which others had the core for a while."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from tasksim.calibration import kernels_under_load, timed_executions
from tasksim.calibration.calibration_options import CalibrationOptions
from tasksim.calibration.kernel_samples import KernelSamples
from tasksim.calibration.kernels_under_load import Bursts, KernelCall, measure_under_load
from tasksim.calibration.neighbours import _together
from tasksim.calibration.timed_executions import INITIAL_CAPACITY, ExecutionTimes, TimedExecutions
from tasksim.native.processor_time import ProcessorTime, ProcessorUses
from tasksim.run.crowding import DISPLACEMENT_WEIGHT, PULSE_WEIGHT, CacheState

GEMM = KernelCall("gemm", {"m": 8.0, "n": 8.0, "k": 8.0})


def times_of(wall_s, cpu_s, preemptions, pulse=np.nan, kernel=""):
    uses = ProcessorUses(len(wall_s))
    uses.cpu_s[:], uses.preemptions[:], uses.pulse[:] = cpu_s, preemptions, pulse
    return ExecutionTimes.of(np.array(wall_s), uses, kernel)


def test_an_interrupted_execution_takes_its_processor_time():
    found = times_of([1.0, 3.0, 1.0], [1.0, 1.0, 1.0], [0, 1, 0])
    assert found.own_s.tolist() == [1.0, 1.0, 1.0]
    assert found.wall_s.tolist() == [1.0, 3.0, 1.0]
    assert found.others_share == pytest.approx(2 / 5)


def test_what_a_kernel_that_does_not_block_lost_others_took():
    """A thread that waits for Python's lock is not preempted: who has the lock is."""
    found = times_of([1.0, 1.0, 4.0], [1.0, 1.0, 1.0], [0, 0, 0])
    assert found.own_s.tolist() == [1.0, 1.0, 1.0]


def test_a_kernel_that_waits_for_something_else_keeps_that():
    found = times_of([2.0, 2.0, 2.5, 7.0], [1.0, 1.0, 1.25, 1.0], [0, 0, 0, 1])
    assert found.own_s.tolist() == [2.0, 2.0, 2.5, 2.0]


def test_an_execution_takes_less_without_others_on_the_other_hyper_thread():
    found = times_of([1.0, 3.0, 1.0], [1.0, 1.0, 1.0], [0, 1, 0], [1.0, 2.0, 1.5])
    crowding = np.array([1.0, 1.0 + PULSE_WEIGHT, 1.0 + PULSE_WEIGHT / 2])
    assert found.own_s == pytest.approx(1.0 / crowding)
    assert found.only(slice(1, None)).own_s == pytest.approx(1.0 / crowding[1:])
    # Others had the core for two seconds; nobody's gate waits for hyper-threads to be idle.
    assert found.others_share == pytest.approx(2 / 5)
    of_p2p = times_of([1.0, 3.0, 1.0], [1.0, 1.0, 1.0], [0, 1, 0], [1.0, 2.0, 1.5], "P2P_in")
    assert of_p2p.own_s[1] > 0.9  # it leaves the other hyper-thread most of the core
    waiting = times_of([2.0, 2.0], [1.0, 1.0], [0, 0], [2.0, 2.0])
    assert waiting.own_s.tolist() == [2.0, 2.0]


def test_an_execution_takes_less_without_others_data_in_the_caches():
    uses = ProcessorUses(1)
    uses.cpu_s[:], uses.preemptions[:], uses.pulse[:] = 1.0, 0, 1.0
    found = ExecutionTimes.of(np.array([1.0]), uses, caches=CacheState(0.5))
    assert found.own_s == pytest.approx([1.0 / (1.0 + 0.5 * DISPLACEMENT_WEIGHT)])


def test_without_a_clock_of_threads_executions_take_what_they_took(monkeypatch):
    monkeypatch.setattr(timed_executions, "has_thread_clock", lambda: False)
    executions = TimedExecutions()
    executions.time(lambda: None)
    found = executions.times()
    assert found.own_s.tolist() == found.wall_s.tolist()
    assert found.others_share == 0.0


class Competitor:
    """Another program that has the core of a thread in each execution *in_turn*, for 3 ms of 4."""

    in_turn = 2

    def __init__(self, monkeypatch):
        self.wall_s = self.cpu_s = 0.0
        self.taken = self.done = 0
        monkeypatch.setattr(timed_executions, "perf_counter", lambda: self.wall_s)
        monkeypatch.setattr(kernels_under_load, "perf_counter", lambda: self.wall_s)
        clock = SimpleNamespace(monotonic=lambda: self.wall_s)
        monkeypatch.setattr(kernels_under_load, "time", clock)
        monkeypatch.setattr(timed_executions, "has_thread_clock", lambda: True)
        monkeypatch.setattr(kernels_under_load, "idle_cores", lambda _: None)
        made = partial(TimedExecutions, account=self.account)
        monkeypatch.setattr(kernels_under_load, "TimedExecutions", made)
        body = SimpleNamespace(
            reset=lambda: None, run=self.execute, kernel=SimpleNamespace(name="gemm")
        )
        monkeypatch.setattr(kernels_under_load, "standalone", lambda *_, **__: body)
        self.body = body

    def account(self, uses, pulse=None):
        return ProcessorTime(uses, lambda: self.cpu_s, lambda: self.taken, pulse)

    def execute(self):
        self.done += 1
        disturbed = self.done % self.in_turn == 0
        self.cpu_s += 1e-3
        self.wall_s += 4e-3 if disturbed else 1e-3
        self.taken += disturbed


@pytest.fixture
def competitor(monkeypatch):
    return Competitor(monkeypatch)


def test_more_executions_than_there_was_room_for(competitor):
    executions = TimedExecutions(account=competitor.account)
    for _ in range(2 * INITIAL_CAPACITY + 2):
        executions.time(competitor.execute)
    found = executions.times()
    assert len(executions) == len(found.own_s) == 2 * INITIAL_CAPACITY + 2
    assert found.own_s == pytest.approx(1e-3)
    assert found.wall_s[1::2] == pytest.approx(4e-3)


def test_a_kernel_by_itself_has_its_undisturbed_duration_in_the_samples(competitor):
    competitor.in_turn = 1  # a busy machine may make one execution only
    collected = KernelSamples()
    options = CalibrationOptions(max_seconds=0.01)
    measure_under_load([GEMM], 1, collected, options, lambda *_: None)
    samples = collected.samples["gemm"]
    assert samples.durations_s == pytest.approx(1e-3)
    assert samples.wall_s == pytest.approx(4e-3)
    assert collected.new == {"gemm": ("by itself",)}


def test_a_burst_has_undisturbed_durations(competitor):
    competitor.in_turn = 1
    found, _ = Bursts(1)(GEMM)
    assert found.own_s == pytest.approx(1e-3)
    assert found.wall_s == pytest.approx(4e-3)


def test_kernels_beside_each_other_tell_what_others_took(competitor):
    competitor.in_turn = 1
    found = _together([competitor.body])
    assert found.medians_s == pytest.approx([1e-3])
    assert found.others_share == pytest.approx(3 / 4)
