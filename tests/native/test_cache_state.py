"""State of the caches: measured, remembered for a while, relative to the least, and unknown."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from compiled_core import needs_core

from tasksim.core.interface import functions
from tasksim.native import cache_state as module
from tasksim.native import idle_notes
from tasksim.native.cache_state import EXPECTED_SHARE, READS_PER_MEASUREMENT, cache_state
from tasksim.native.idle_notes import note
from tasksim.run.crowding import UNKNOWN_CACHES


class Core:
    """A core whose reads of near data, after a pause and of far data take what is told."""

    def __init__(self):
        self.told = [(1.0, 2.0, 3.0)]
        self.known = True

    def tasksim_cold_reads(self, size_bytes, pause_s, count, address):
        if not self.known:
            return 0
        seconds = np.ctypeslib.as_array((ctypes.c_double * (3 * count)).from_address(address))
        seconds[:] = np.resize(self.told, (count, 3)).ravel()
        return count


@pytest.fixture
def core(monkeypatch, tmp_path):
    """Return the core of a user who has run nothing so far."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(module, "_found", [])
    monkeypatch.setattr(idle_notes, "_least", {})
    monkeypatch.setattr(module, "functions", lambda: found)
    found = Core()
    return found


@pytest.fixture
def time_s(monkeypatch, core):
    """Return a list with the time."""
    now = [100.0]
    monkeypatch.setattr(module, "monotonic", lambda: now[0])
    return now


def with_expected(*shares):
    return (sum(shares) + EXPECTED_SHARE) / (len(shares) + 1)


@pytest.mark.parametrize(
    ("told", "share"),
    [
        ([(1.0, 2.0, 3.0)], 0.5),
        ([(1.0, 1.5, 3.0)], 0.25),
        ([(1.0, 0.5, 3.0)], 0.0),
        ([(1.0, 4.0, 3.0)], 1.0),
        ([(1.0, 2.0, 3.0), (2.0, 2.0, 3.0)], 0.5),  # near data that others displaced at once
        ([(1.0, 2.0, 3.0)] * 3 + [(9.0, 9.0, 9.0)], 0.5),  # an interruption
    ],
)
def test_a_share_lies_between_reads_of_near_and_of_far_data(core, time_s, told, share):
    core.told = told
    assert cache_state().displaced_share == pytest.approx(with_expected(share))


def test_measurements_of_the_last_seconds_count(core, time_s):
    cache_state()
    core.told = [(1.0, 3.0, 3.0)]
    time_s[0] += module.INTERVAL_S / 2
    assert cache_state().displaced_share == pytest.approx(with_expected(0.5))
    time_s[0] += module.INTERVAL_S
    assert cache_state().displaced_share == pytest.approx(with_expected(0.5, 1.0))
    time_s[0] += module.VALID_S - module.INTERVAL_S
    assert cache_state().displaced_share == pytest.approx(with_expected(1.0, 1.0))


@pytest.mark.parametrize(
    ("told", "ratio"),
    [
        ([(1.0, 2.0, 3.0)], 1.0),
        ([(2.25, 2.5, 3.0)], 1.5),
        ([(1.0, 2.0, 12.0)], 2.0),
        ([(2.0, 2.0, 6.0)], 2.0),
        ([(0.9, 2.0, 2.9)], 1.0),  # the least so far
        ([(1.0, 2.0, 3.0)] * 8 + [(4.0, 4.0, 12.0)] * 8, 2.0),  # others rest half of the time
        ([(1.0, 2.0, 3.0)] * 15 + [(900.0, 900.0, 900.0)], 4.0 ** (1 / 16)),  # an interruption
    ],
)
def test_reads_take_longer_than_the_least(core, time_s, told, ratio):
    assert cache_state().read_ratio == 1.0
    time_s[0] += 2 * module.VALID_S
    core.told = told
    assert cache_state().read_ratio == pytest.approx(ratio)


def test_earlier_processes_know_how_fast_reads_may_be(core, time_s):
    note(module.NOTE_NAME, np.array([[0.5, 1.5]]))
    assert cache_state().read_ratio == pytest.approx(2.0)


@pytest.mark.parametrize("told", [[(1.0, 1.0, 1.0)], [(2.0, 2.0, 1.0)]])
def test_without_a_cache_that_is_faster_it_is_unknown(core, time_s, told):
    core.told = told
    assert cache_state() == UNKNOWN_CACHES


def test_without_the_compiled_core_it_is_unknown(core, monkeypatch):
    monkeypatch.setattr(module, "functions", lambda: None)
    assert cache_state() == UNKNOWN_CACHES


def test_of_processors_that_cannot_empty_their_caches_it_is_unknown(core):
    core.known = False
    assert cache_state() == UNKNOWN_CACHES


@pytest.mark.parametrize("pause_s", [needs_core(0.0)])
def test_reads_take_time(pause_s):
    core = functions()
    assert core is not None
    seconds = np.zeros((READS_PER_MEASUREMENT, 3))
    if core.tasksim_cold_reads(2**20, pause_s, READS_PER_MEASUREMENT, seconds.ctypes.data):
        assert (seconds > 0.0).all()
