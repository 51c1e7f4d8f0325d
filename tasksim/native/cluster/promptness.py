"""Promptness of a thread that sleeps most of the time: how soon it runs after it wakes.

A communication thread has no core of its own. It needs one for microseconds, immediately: while it
waits for the end of a worker's time slice, some milliseconds, all readers of its messages wait.
"""

from __future__ import annotations

import ctypes
import os
import platform
from contextlib import suppress
from typing import Final

__all__ = ["be_prompt"]

SLACK_NS: Final = 1000
"""Allowed extra sleep in nanoseconds; the default of 50 us exceeds the sleep itself."""
SLICE_NS: Final = 100_000
"""Requested time slice in nanoseconds, the smallest that Linux grants: since 6.12, threads with
short slices run first, which needs no privilege and takes nothing from other threads."""

_TIMER_SLACK: Final = 29
_SET_ATTRIBUTES: Final = {"x86_64": 314, "aarch64": 274, "riscv64": 274}
"""Number of the system call ``sched_setattr`` per architecture: C libraries have no name for it."""


class _Attributes(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_uint32),
        ("policy", ctypes.c_uint32),
        ("flags", ctypes.c_uint64),
        ("nice", ctypes.c_int32),
        ("priority", ctypes.c_uint32),
        ("runtime_ns", ctypes.c_uint64),
        ("deadline_ns", ctypes.c_uint64),
        ("period_ns", ctypes.c_uint64),
    ]


def be_prompt() -> None:
    """Let the calling thread wake on time and run soon afterwards; no effect but on Linux."""
    with suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        library.prctl(_TIMER_SLACK, SLACK_NS, 0, 0, 0)
        number = _SET_ATTRIBUTES.get(platform.machine())
        if number is not None:
            nice = os.getpriority(os.PRIO_PROCESS, 0)
            wanted = _Attributes(
                size=ctypes.sizeof(_Attributes), policy=0, nice=nice, runtime_ns=SLICE_NS
            )
            library.syscall(number, 0, ctypes.byref(wanted), 0)
