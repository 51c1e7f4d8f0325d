"""Clock of threads: what the system tells of the processor time of a thread.

Processes of a program's own pools import this, so it imports nothing that is large.
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
"""Coarsest resolution of a clock that can time tasks, in seconds: that of Windows moves every
16 ms."""


def has_thread_clock() -> bool:
    """Return whether this system tells the processor time of a thread finely enough for tasks."""
    try:
        return time.get_clock_info("thread_time").resolution <= COARSEST_CLOCK_S
    except ValueError:
        return False


def preemptions() -> int:
    """Return how often the system took the core from this thread; 0 where it does not tell."""
    if resource is None or not hasattr(resource, "RUSAGE_THREAD"):
        return 0
    return resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw
