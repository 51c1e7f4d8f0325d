"""Ticks of the clock that counts whole nanoseconds."""

from __future__ import annotations

from typing import Final

__all__ = ["TICKS_PER_S", "TICK_S", "ticks"]

TICK_S: Final = 1e-9
"""What one tick of a clock of whole nanoseconds is, in seconds."""

TICKS_PER_S: Final = 1e9
"""How many ticks a second has; ticks divided by it are the nearest to the last bit, which ticks
multiplied by :data:`TICK_S` are not."""


def ticks(seconds: float) -> int:
    """Return *seconds* in whole ticks, rounded to the nearest."""
    return round(seconds * 1e9)
