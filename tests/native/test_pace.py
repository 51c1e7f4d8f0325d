"""Pace: the clock on the wall over some work on all cores."""

import pytest

from tasksim.native.pace import Pace


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_a_pace_is_positive(workers):
    assert 0 < Pace(workers)() < 10
