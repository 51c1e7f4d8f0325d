"""Resolution of the clock: the smallest time difference that this machine can measure."""

from __future__ import annotations

from itertools import pairwise
from time import perf_counter_ns
from typing import Final

__all__ = ["MIN_RESOLUTIONS", "timer_resolution"]

MIN_RESOLUTIONS: Final = 100
"""Number of resolutions below which a duration is known to no better than a percent."""
CLOCK_READINGS: Final = 2000
"""Number of readings, a tenth of a millisecond in all: their least difference is stable from a
hundred on."""


def timer_resolution() -> float:
    """Return the least difference between two readings of the clock, in seconds.

    It is measured, not looked up: the clock counts nanoseconds, but a reading takes tens of them,
    and a measured duration is too long by this time.
    """
    readings = [perf_counter_ns() for _ in range(CLOCK_READINGS)]
    steps = [b - a for a, b in pairwise(readings) if b > a]
    return min(steps) / 1e9 if steps else 1e-9
