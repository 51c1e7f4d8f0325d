"""Resolution of the clock: how finely this machine tells time."""

from __future__ import annotations

from itertools import pairwise
from time import perf_counter_ns
from typing import Final

__all__ = ["RESOLUTIONS", "timer_resolution"]

RESOLUTIONS: Final = 100
"""What is shorter than so many resolutions is known to no better than a percent."""
READINGS: Final = 2000
"""A tenth of a millisecond of readings: their least difference is the same from a hundred on."""


def timer_resolution() -> float:
    """Return the least difference between two readings of the clock, in seconds.

    Measured, not asked for: the clock counts nanoseconds, but reading it takes tens of them, and
    that is what a measured duration has too much.
    """
    readings = [perf_counter_ns() for _ in range(READINGS)]
    steps = [b - a for a, b in pairwise(readings) if b > a]
    return min(steps) / 1e9 if steps else 1e-9
