"""Measuring in calm moments: what counts, what is done again, when it ends."""

from __future__ import annotations

import itertools

import pytest

from tasksim.base.errors import InputError
from tasksim.native import calm_moments as module
from tasksim.native.calm_moments import FIRST_PROBES, Probe, measure_calmly


@pytest.fixture(autouse=True)
def _no_naps(monkeypatch):
    monkeypatch.setattr(module, "NAP_S", 0.0)
    monkeypatch.setattr(module, "LONGEST_WAIT_S", 0.0)


class Machine:
    """A machine whose speed follows a script: after the first probes, a value per probe."""

    def __init__(self, *script):
        self.script = itertools.chain([1.0] * FIRST_PROBES, script, itertools.repeat(1.0))

    def probe(self):
        return next(self.script)


def counting(results):
    """Return an action that returns 0, 1, 2, ... and notes them in *results*."""

    def action():
        results.append(len(results))
        return results[-1]

    return action


def test_a_calm_machine_is_measured_in_turn():
    order = []
    actions = [lambda name=name: order.append(name) or name for name in "abc"]
    measured = measure_calmly(actions, Machine().probe, repetitions=2)
    assert order == list("abcabc")
    assert measured.values == [["a", "a"], ["b", "b"], ["c", "c"]]
    assert (measured.calm.kept, measured.calm.repeated, measured.calm.disturbed) == (6, 0, 0)


@pytest.mark.parametrize("script", [(1.2, 1.0), (1.0, 1.2)], ids=["before", "after"])
def test_what_is_disturbed_is_done_again_after_the_others(script):
    done = []
    measured = measure_calmly([counting(done)], Machine(*script).probe, repetitions=3)
    assert done == [0, 1, 2, 3]
    assert measured.values == [[3, 1, 2]]
    assert measured.calm.repeated == 1
    assert measured.calm.disturbed == 0


def test_tolerance_says_what_is_calm():
    def repeated(tolerance):
        machine = Machine(1.1)
        action = counting([])
        return measure_calmly(
            [action], machine.probe, repetitions=1, tolerance=tolerance
        ).calm.repeated

    assert repeated(0.05) == 1
    assert repeated(0.15) == 0


def test_a_faster_probe_than_all_before_opens_earlier_values_again():
    # The first value is measured between probes of 1.0; then the machine turns out to be faster.
    script = [1.0, 1.0, 0.5] + [0.5] * 10
    done = []
    measured = measure_calmly([counting(done)], Machine(*script).probe, repetitions=2)
    assert measured.values == [[2, 1]]
    assert measured.calm.fastest_s == 0.5


def test_without_patience_the_calmest_trial_stays_and_is_counted():
    busy = Machine(*[2.0, 2.0] * 50)
    done = []
    measured = measure_calmly([counting(done)], busy.probe, repetitions=2, patience_s=0.0)
    assert measured.values == [[0, 1]]
    assert measured.calm.disturbed == 2


def test_of_disturbed_trials_the_calmest_is_kept(monkeypatch):
    now = iter(range(100))
    monkeypatch.setattr(module.time, "monotonic", lambda: next(now))
    # Trials with probes (2, 2), (1.5, 1.5), (3, 3), ...: patience ends before a calm one.
    busy = Machine(2.0, 2.0, 1.5, 1.5, *[3.0] * 100)
    done = []
    measured = measure_calmly([counting(done)], busy.probe, repetitions=1, patience_s=20)
    assert len(done) > 3
    assert measured.values == [[1]]
    assert measured.calm.disturbed == 1


def test_progress_counts_calm_values():
    seen = []
    measure_calmly(
        [counting([])],
        Machine(1.5, 1.5).probe,
        repetitions=2,
        progress=lambda done, total: seen.append((done, total)),
    )
    assert seen == [(0, 2), (1, 2), (2, 2)]


@pytest.mark.parametrize("wrong", [{"repetitions": 0}, {"tolerance": 0.0}, {"tolerance": -1.0}])
def test_nothing_to_do_is_refused(wrong):
    with pytest.raises(InputError, match="legal: at least one"):
        measure_calmly([counting([])], Machine().probe, **{"repetitions": 1, **wrong})
    with pytest.raises(InputError, match="0 actions"):
        measure_calmly([], Machine().probe, repetitions=1)


def test_a_probe_takes_some_milliseconds_on_each_worker():
    for workers in (1, 2):
        assert 1e-5 < Probe(workers)() < 1.0
