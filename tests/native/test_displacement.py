"""Shares of near data that others displace: measured, remembered for a while, and unknown."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest
from compiled_core import needs_core

from tasksim.core.interface import functions
from tasksim.native import displacement
from tasksim.native.displacement import EXPECTED_SHARE, READS_PER_MEASUREMENT, displaced_share


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
def core(monkeypatch):
    monkeypatch.setattr(displacement, "_found", [])
    monkeypatch.setattr(displacement, "functions", lambda: found)
    found = Core()
    return found


@pytest.fixture
def time_s(monkeypatch, core):
    """Return a list with the time."""
    now = [100.0]
    monkeypatch.setattr(displacement, "monotonic", lambda: now[0])
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
    assert displaced_share() == pytest.approx(with_expected(share))


def test_measurements_of_the_last_seconds_count(core, time_s):
    displaced_share()
    core.told = [(1.0, 3.0, 3.0)]
    time_s[0] += displacement.INTERVAL_S / 2
    assert displaced_share() == pytest.approx(with_expected(0.5))
    time_s[0] += displacement.INTERVAL_S
    assert displaced_share() == pytest.approx(with_expected(0.5, 1.0))
    time_s[0] += displacement.VALID_S - displacement.INTERVAL_S
    assert displaced_share() == pytest.approx(with_expected(1.0, 1.0))


@pytest.mark.parametrize("told", [[(1.0, 1.0, 1.0)], [(2.0, 2.0, 1.0)]])
def test_without_a_cache_that_is_faster_it_is_unknown(core, time_s, told):
    core.told = told
    assert displaced_share() is None


def test_without_the_compiled_core_it_is_unknown(core, monkeypatch):
    monkeypatch.setattr(displacement, "functions", lambda: None)
    assert displaced_share() is None


def test_of_processors_that_cannot_empty_their_caches_it_is_unknown(core):
    core.known = False
    assert displaced_share() is None


@pytest.mark.parametrize("pause_s", [needs_core(0.0)])
def test_reads_take_time(pause_s):
    core = functions()
    assert core is not None
    seconds = np.zeros((READS_PER_MEASUREMENT, 3))
    if core.tasksim_cold_reads(2**20, pause_s, READS_PER_MEASUREMENT, seconds.ctypes.data):
        assert (seconds > 0.0).all()
