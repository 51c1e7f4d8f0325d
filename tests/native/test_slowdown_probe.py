"""The slowdown probe: processor time over the time on the wall, of work on all cores."""

from __future__ import annotations

from math import prod

import pytest

from tasksim.models.uncertainty.slowdownlaw import RECENT_PROBES
from tasksim.native import slowdown_probe
from tasksim.native.pulse import Idle
from tasksim.native.slowdown_probe import SlowdownProbe
from tasksim.run.crowding import (
    BEAT_EXPONENTS,
    DETOUR_S,
    DISPLACEMENT_WEIGHT,
    PULSE_WEIGHT,
    TYPICAL_DETOUR_SHARE,
    CacheState,
)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_a_slowdown_is_one_or_more(workers):
    probe = SlowdownProbe(workers)()
    assert 1 <= probe.slowdown < 1000
    assert probe.legal


@pytest.mark.parametrize(
    ("shares", "expected"), [([1.0, 1.0], 1.0), ([0.5, 0.5], 2.0), ([1.0, 0.5], 4 / 3)]
)
def test_it_says_how_much_of_the_cores_threads_got(monkeypatch, shares, expected):
    probe = SlowdownProbe(2)
    monkeypatch.setattr(probe._products, "shares", lambda *_: shares)
    monkeypatch.setattr(probe, "_pulses", [])
    assert probe() == (pytest.approx(expected), 0.0, None)


def test_it_says_how_much_others_on_the_same_processor_slow_work(monkeypatch):
    monkeypatch.setattr(slowdown_probe, "idle_cores", lambda _: [Idle(2.0, 0.5)] * 2)
    found = (1.5, 1.2)
    monkeypatch.setattr(slowdown_probe, "relative_pulse", lambda _: lambda: found)
    monkeypatch.setattr(slowdown_probe, "cache_state", lambda: CacheState(displaced_share=0.5))
    monkeypatch.setattr(slowdown_probe, "detour_s", lambda workers: DETOUR_S / workers)
    probe = SlowdownProbe(2)

    def shares(_seconds, between):
        between(0), between(1)
        return [0.5, 0.5]

    monkeypatch.setattr(probe._products, "shares", shares)
    factors = (
        1.0 + 0.5 * weight
        for weight in (PULSE_WEIGHT, DISPLACEMENT_WEIGHT, 0.5 * TYPICAL_DETOUR_SHARE)
    )
    crowding = 1.2 ** BEAT_EXPONENTS[1] * prod(factors)
    slowdown, found, of_kernels = probe()
    assert (slowdown, found) == pytest.approx((2.0 * crowding, crowding))
    assert of_kernels[""] == found
    assert of_kernels["P2P_in"] < found < of_kernels["gemm"]


def test_the_last_probes_are_some_moments_apart(monkeypatch):
    paused = []
    monkeypatch.setattr(slowdown_probe.time, "sleep", paused.append)
    assert len(SlowdownProbe(1).recent()) == RECENT_PROBES
    # Other parts sleep, too, until the threads of BLAS do.
    assert paused.count(slowdown_probe.PAUSE_S) == RECENT_PROBES - 1
