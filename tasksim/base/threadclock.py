"""Processor time and preemptions of a thread, as the system reports them.

Processes of a program's own pools import this module, so it imports nothing large.
"""

from __future__ import annotations

import time
from typing import Final

try:
    import resource
except ImportError:  # not a Unix
    resource = None  # type: ignore[assignment]

__all__ = ["has_thread_clock", "preemptions"]

COARSEST_CLOCK_S: Final = 1e-6
"""Coarsest resolution of a clock that can time tasks, in seconds; the clock of Windows advances
every 16 ms."""


def has_thread_clock() -> bool:
    """Return whether the system's clock of a thread's processor time is fine enough for tasks."""
    try:
        return time.get_clock_info("thread_time").resolution <= COARSEST_CLOCK_S
    except ValueError:
        return False


def preemptions() -> int:
    """Return how often the system has preempted this thread; 0 if it does not report that."""
    if resource is None or not hasattr(resource, "RUSAGE_THREAD"):
        return 0
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw
