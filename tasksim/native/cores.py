"""Usable cores of this machine, and the pinning of threads."""

from __future__ import annotations

import os
from contextlib import suppress

__all__ = ["cores_for", "pin_thread", "usable_cores"]


def usable_cores() -> list[int]:
    """Return the numbers of the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def pin_thread(core: int | None) -> None:
    """Pin the calling thread to *core* if the system allows it; None: do not pin."""
    if core is not None and hasattr(os, "sched_setaffinity"):
        with suppress(OSError):  # a container may forbid it; an unpinned run is still valid
            os.sched_setaffinity(0, {core})


def cores_for(workers: int) -> list[int] | None:
    """Return a core for each worker, or None if there are fewer cores than workers."""
    cores = usable_cores()
    return cores if workers <= len(cores) else None
