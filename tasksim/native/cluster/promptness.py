"""Promptness of a thread that sleeps most of the time: how soon it runs when it wakes.

A communication thread has no core of its own. It needs one for microseconds, at once: while it
waits for the end of a worker's slice of time, some milliseconds, all that need its messages wait.
"""

from __future__ import annotations

import ctypes
import os
import platform
from contextlib import suppress
from typing import Final

__all__ = ["be_prompt"]

SLACK_NS: Final = 1000
"""By how much sleeping may take longer; by default 50 us, more than what is slept."""
SLICE_NS: Final = 100_000
"""The slice of time that the thread asks for, the least that Linux grants: since 6.12, who asks for
little comes before who has more, which needs no privilege and takes nothing from anybody."""

_TIMER_SLACK: Final = 29
_SET_ATTRIBUTES: Final = {"x86_64": 314, "aarch64": 274, "riscv64": 274}
"""The number of ``sched_setattr`` on machines of some make, as C libraries have no name for it."""


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
    """Let the calling thread sleep as short as it asks to, and run soon, where it can: on Linux."""
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
