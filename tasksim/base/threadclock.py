"""Timing of one thread, with its preemptions and without garbage collection.

Processes of a program's own pools import this module, so it imports nothing large.
"""

from __future__ import annotations

import gc
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

try:
    import resource
except ImportError:  # not a Unix
    resource = None  # type: ignore[assignment]

__all__ = ["has_thread_clock", "no_garbage_collection", "preemptions"]

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


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Disable the garbage collector within the block.

    Otherwise it would traverse the lists of a million tasks repeatedly while a clock runs.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
