"""Growth of CPU time with the size of a task: true of a slow machine, and of a busy one."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


MAX_TRIES = 4
"""Number of tries after which a growth counts as faster than linear."""


def growth(work: Callable[[int], object], small: int, large: int, times: int = 3) -> float:
    """Return how many times the CPU time of ``work(large)`` is that of ``work(small)``.

    The least of several *times* each, in turn: what others do adds to a time, never takes from it.
    """
    seconds: dict[int, float] = {}
    for _ in range(times):
        for size in (small, large):
            begun = time.process_time()
            work(size)
            took = time.process_time() - begun
            seconds[size] = min(took, seconds.get(size, took))
    return seconds[large] / max(seconds[small], 1e-6)


def nearly_linear(work: Callable[[int], object], small: int, large: int, times: int = 3) -> bool:
    """Return whether the CPU time grows with the size hardly faster than the size itself.

    Where it grows with the square, eight times the size take 64 times as long, where it is linear
    8 times: the line is in the middle, at 8 ** 1.5. Caches that other programs fill may push a
    linear growth over it once, and do not pull a square one below: one of several tries decides.
    """
    return any(growth(work, small, large, times) < (large / small) ** 1.5 for _ in range(MAX_TRIES))
