"""Pace: the clock on the wall over some work on all cores."""

import pytest

from tasksim.models.uncertainty.pacelaw import RECENT
from tasksim.native import pace
from tasksim.native.pace import Pace


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_a_pace_is_positive(workers):
    assert 0 < Pace(workers)() < 10


def test_the_last_paces_are_some_moments_apart(monkeypatch):
    paused = []
    monkeypatch.setattr(pace.time, "sleep", paused.append)
    found = Pace(1).recent()
    assert len(found) == RECENT
    assert all(0 < seconds < 10 for seconds in found)
    assert paused == [pace.PAUSE_S] * (RECENT - 1)
