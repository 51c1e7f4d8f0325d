"""Measuring in calm moments: what counts, what is done again, when it ends."""

from __future__ import annotations

import itertools

import pytest

from tasksim.base.errors import InputError
from tasksim.native import calm_moments as module
from tasksim.native.calm_moments import (
    FIRST_PROBES,
    MAX_WAIT_S,
    MeasuredGate,
    Probe,
    ProbedGate,
    measure_calmly,
    run_gate,
)


@pytest.fixture(autouse=True)
def _no_naps(monkeypatch):
    monkeypatch.setattr(module, "NAP_S", 0.0)
    monkeypatch.setattr(module, "MAX_WAIT_S", 0.0)


class Machine:
    """A machine whose speed follows a script: after the first probes, a value per probe."""

    def __init__(self, *script):
        self.script = itertools.chain([1.0] * FIRST_PROBES, script, itertools.repeat(1.0))

    def probe(self):
        return next(self.script)

    @property
    def gate(self):
        return ProbedGate(self.probe)


def counting(results):
    """Return an action that returns 0, 1, 2, ... and notes them in *results*."""

    def action():
        results.append(len(results))
        return results[-1]

    return action


def test_a_calm_machine_is_measured_in_turn():
    order = []
    actions = [lambda name=name: order.append(name) or name for name in "abc"]
    measured = measure_calmly(actions, Machine().gate, repetitions=2)
    assert order == list("abcabc")
    assert measured.values == [["a", "a"], ["b", "b"], ["c", "c"]]
    assert (measured.calm.kept, measured.calm.repeated, measured.calm.disturbed) == (6, 0, 0)


@pytest.mark.parametrize("script", [(1.2, 1.0), (1.0, 1.2)], ids=["before", "after"])
def test_what_is_disturbed_is_done_again_after_the_others(script):
    done = []
    measured = measure_calmly([counting(done)], Machine(*script).gate, repetitions=3)
    assert done == [0, 1, 2, 3]
    assert measured.values == [[3, 1, 2]]
    assert measured.calm.repeated == 1
    assert measured.calm.disturbed == 0


def test_tolerance_says_what_is_calm():
    def repeated(tolerance):
        gate = ProbedGate(Machine(1.1).probe, tolerance)
        return measure_calmly([counting([])], gate, repetitions=1).calm.repeated

    assert repeated(0.05) == 1
    assert repeated(0.15) == 0


def test_a_faster_probe_than_all_before_opens_earlier_values_again():
    # The first value is measured between probes of 1.0; then the machine turns out to be faster.
    script = [1.0, 1.0, 0.5] + [0.5] * 10
    done = []
    gate = Machine(*script).gate
    measured = measure_calmly([counting(done)], gate, repetitions=2)
    assert measured.values == [[2, 1]]
    assert gate.fastest_s == 0.5


def test_without_patience_the_calmest_trial_stays_and_is_counted():
    busy = Machine(*[2.0, 2.0] * 50)
    done = []
    measured = measure_calmly([counting(done)], busy.gate, repetitions=2, patience_s=0.0)
    assert measured.values == [[0, 1]]
    assert measured.calm.disturbed == 2
    assert measured.calm.worst == (
        "others used the cores: a probe took up to 100 % longer than the fastest"
    )


def test_of_disturbed_trials_the_calmest_is_kept(monkeypatch):
    now = iter(range(100))
    monkeypatch.setattr(module.time, "monotonic", lambda: next(now))
    # Trials with probes (2, 2), (1.5, 1.5), (3, 3), ...: patience ends before a calm one.
    busy = Machine(2.0, 2.0, 1.5, 1.5, *[3.0] * 100)
    done = []
    measured = measure_calmly([counting(done)], busy.gate, repetitions=1, patience_s=20)
    assert len(done) > 3
    assert measured.values == [[1]]
    assert measured.calm.disturbed == 1


def test_progress_counts_calm_values():
    seen = []
    measure_calmly(
        [counting([])],
        Machine(1.5, 1.5).gate,
        repetitions=2,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen == [(0, 2), (1, 2), (2, 2)]


def test_nothing_to_do_is_refused():
    with pytest.raises(InputError, match="legal: at least one"):
        measure_calmly([counting([])], Machine().gate, repetitions=0)
    with pytest.raises(InputError, match="0 actions"):
        measure_calmly([], Machine().gate, repetitions=1)


def test_a_probe_takes_some_milliseconds_on_each_worker():
    for workers in (1, 2):
        assert 1e-5 < Probe(workers)() < 1.0


class Clock:
    """A clock that moves when somebody measures or sleeps."""

    def __init__(self, monkeypatch):
        self.now_s, self.slept_s = 0.0, []
        monkeypatch.setattr(module.time, "monotonic", lambda: self.now_s)
        monkeypatch.setattr(module.time, "sleep", self.sleep)

    def sleep(self, seconds):
        self.now_s += seconds
        self.slept_s.append(seconds)


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.setattr(module, "NAP_S", 0.1)
    monkeypatch.setattr(module, "MAX_WAIT_S", MAX_WAIT_S)
    return Clock(monkeypatch)


def lasting(clock, seconds, shares):
    """Return an action that takes so many *seconds* and returns the next of *shares*."""
    left = iter(shares)

    def action():
        clock.now_s += seconds
        return next(left)

    return action


def taken():
    """Return a gate of values that are themselves what others took."""
    return MeasuredGate(lambda share: share)


def test_a_measured_value_that_others_disturbed_is_measured_again(clock):
    action = lasting(clock, 1.0, [0.4, 0.004, 0.3, 0.019])
    measured = measure_calmly([action], taken(), repetitions=2)
    assert measured.values == [[0.019, 0.004]]
    assert (measured.calm.kept, measured.calm.repeated, measured.calm.disturbed) == (2, 2, 0)
    assert measured.calm.worst == "other programs had a core for up to 1.9 % of the time"


def test_a_calm_machine_is_not_waited_for(clock):
    measured = measure_calmly([lasting(clock, 1.0, [0.0] * 3)], taken(), repetitions=3)
    assert measured.calm.seconds == 3.0
    assert set(clock.slept_s) == {0.0}


@pytest.mark.parametrize(("took_s", "rest_s"), [(0.01, 0.1), (2.0, 2.0), (60.0, MAX_WAIT_S)])
def test_after_a_disturbed_value_a_gate_rests_as_long_as_that_took(clock, took_s, rest_s):
    gate, action = taken(), lasting(clock, took_s, [0.5, 0.0, 0.0])
    for _ in range(3):
        gate.during(action, until=1e9)
    assert clock.slept_s == [0.0, rest_s, 0.0]


def test_patience_bounds_rests_and_the_least_disturbed_value_counts(clock):
    action = lasting(clock, 1.0, [0.6, 0.12, 0.5, 0.4])
    measured = measure_calmly([action], taken(), repetitions=1, patience_s=5.5)
    assert clock.slept_s == [0.0, 1.0, 1.0, 0.5]
    assert measured.values == [[0.12]]
    assert measured.calm.disturbed == 1
    assert measured.calm.worst == "other programs had a core for up to 12 % of the time"


def test_a_value_without_patience_is_disturbed_and_told(clock):
    measured = measure_calmly([lasting(clock, 1.0, [0.6])], taken(), repetitions=1, patience_s=0.0)
    assert (measured.values, measured.disturbed) == ([[0.6]], [[True]])


def test_the_gate_of_runs_measures_where_the_system_tells(monkeypatch):
    monkeypatch.setattr(module, "Probe", lambda _workers: lambda: 1.0)
    account = module.ThreadAccount(0.0, 0.0, 0)
    monkeypatch.setattr(module.ThreadAccount, "now", lambda: account)
    monkeypatch.setattr(module, "usable_cores", lambda: [0, 1])
    monkeypatch.setattr(module, "has_thread_clock", lambda: True)
    assert isinstance(run_gate(2), MeasuredGate)
    # Threads that share cores wait for each other.
    assert isinstance(run_gate(3), ProbedGate)
    monkeypatch.setattr(module, "has_thread_clock", lambda: False)
    assert isinstance(run_gate(2), ProbedGate)
    monkeypatch.setattr(module, "has_thread_clock", lambda: True)
    unknown = account._replace(waited_s=float("nan"))
    monkeypatch.setattr(module.ThreadAccount, "now", lambda: unknown)
    assert isinstance(run_gate(2), ProbedGate)
