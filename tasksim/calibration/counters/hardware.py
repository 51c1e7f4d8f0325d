"""Counters of the processor, via Linux's ``perf_event_open``."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import struct
from dataclasses import dataclass
from typing import Any, Final

from tasksim.base.errors import TasksimError
from tasksim.formats.counters import Counted

__all__ = [
    "HARDWARE_EVENTS",
    "SOFTWARE_EVENTS",
    "HardwareEvent",
    "PerfCounters",
    "refusal",
    "scaled",
]

SYSTEM_CALL_NUMBERS: Final = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319}
"""Number of the system call per machine."""
ENABLE, DISABLE, RESET = 0x2400, 0x2401, 0x2403
READ_FORMAT: Final = 3
"""Read format: the count with the times for which it was enabled and for which it ran."""
STRUCTURE_BYTES: Final = 112
"""Size in bytes of the attribute structure, in the version that all kernels since 4.0 know."""
EVENT_FLAGS: Final = 1 << 0 | 1 << 5 | 1 << 6
"""Disabled at first; do not count in the kernel or the hypervisor."""
READ_MISS: Final = 1 << 16


@dataclass(frozen=True)
class HardwareEvent:
    """Event to count, with its name in perf, and its type and configuration for the system call.

    Without an event that is not *required*, the others are counted all the same.
    """

    name: str
    kind: int
    config: int
    required: bool = True


HARDWARE_EVENTS: Final = (
    HardwareEvent("instructions", 0, 1),
    HardwareEvent("cycles", 0, 0),
    HardwareEvent("L1-dcache-loads", 3, 0),
    HardwareEvent("L1-dcache-load-misses", 3, READ_MISS),
    HardwareEvent("LLC-loads", 3, 2),
    HardwareEvent("LLC-load-misses", 3, 2 | READ_MISS),
    HardwareEvent("stalled-cycles-backend", 0, 8, required=False),
)
"""Events that most processors count; the cache events are required, as models need them. Where
stalls are not counted, models tell the time of memory by its latencies."""
SOFTWARE_EVENTS: Final = (HardwareEvent("task-clock", 1, 1), HardwareEvent("page-faults", 1, 2))
"""Events that the system itself counts on any machine, for tests of the system call."""


class PerfCounters:
    """Counters of the calling thread.

    ::

        with PerfCounters() as counters:
            counters.start()
            kernel.run()
            counted = counters.stop()

    Parameters
    ----------
    events
        Events to count.

    Raises
    ------
    TasksimError
        If the system refuses to count a required event, with its reason and a remedy.
    """

    def __init__(self, events: tuple[HardwareEvent, ...] = HARDWARE_EVENTS) -> None:
        self._asked = events
        self._events: list[HardwareEvent] = []
        self._files: list[int] = []
        self._refused: list[str] = []

    def __enter__(self) -> PerfCounters:
        try:
            for event in self._asked:
                self._open(event)
        except TasksimError:
            self.close()
            raise
        return self

    def _open(self, event: HardwareEvent) -> None:
        try:
            file = _opened(event)
        except OSError as error:
            code = error.errno or 0
            if event.required:
                raise TasksimError(refusal(event.name, code)) from None
            self._refused.append(f"{event.name} is not counted: {reason(code)}")
            return
        self._events.append(event)
        self._files.append(file)

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the counters."""
        while self._files:
            os.close(self._files.pop())

    def start(self) -> None:
        """Reset the counters and start them."""
        for request in (RESET, ENABLE):
            for file in self._files:
                fcntl.ioctl(file, request, 0)
        self._before = [struct.unpack("<QQQ", os.read(file, 24)) for file in self._files]

    def stop(self) -> Counted:
        """Return the counts since :meth:`start`, scaled for events counted part of the time."""
        for file in self._files:
            fcntl.ioctl(file, DISABLE, 0)
        found, notes = dict[str, float](), list(self._refused)
        for event, file, before in zip(self._events, self._files, self._before, strict=True):
            now = struct.unpack("<QQQ", os.read(file, 24))
            value, wanted, ran = (after - first for after, first in zip(now, before, strict=True))
            if not event.required and wanted and not ran:
                notes.append(f"{event.name} is not counted: other programs use all counters")
                continue
            found[event.name], note = scaled(event.name, value, wanted, ran)
            notes += note
        return Counted(found, notes=tuple(notes))


def scaled(event: str, value: int, wanted: int, ran: int) -> tuple[float, list[str]]:
    """Return the count for all of the time *wanted*, of which the event *ran* only a part.

    >>> scaled("cycles", 300, 100, 75)
    (400.0, ['cycles was counted for 75 % of the time; scaled to all of it'])
    """
    if wanted and not ran:
        raise TasksimError(f"{event} was not counted: other programs use all counters")
    if ran >= wanted:
        return float(value), []
    note = f"{event} was counted for {100 * ran / wanted:.0f} % of the time; scaled to all of it"
    return value * wanted / ran, [note]


def refusal(event: str, code: int) -> str:
    """Return the message for a refusal to count *event* with error *code*.

    >>> import errno
    >>> refusal("instructions", errno.EACCES).partition(":")[0]
    'perf_event_open refuses to count instructions'
    """
    return (
        f"perf_event_open refuses to count {event}: {reason(code)}. --source valgrind counts in a "
        "simulated processor"
    )


def reason(code: int) -> str:
    """Return why the system refuses to count an event with error *code*."""
    return {
        errno.ENOENT: "this machine does not count it; many virtual machines do not",
        errno.EOPNOTSUPP: "this machine does not count it; many virtual machines do not",
        errno.EINVAL: "this processor does not count it",
        errno.EACCES: "only root may; others may with 'sysctl kernel.perf_event_paranoid=1'",
        errno.EPERM: "not in this container, or only root may: "
        "'sysctl kernel.perf_event_paranoid=1', or a container with --cap-add PERFMON",
        errno.ENOSYS: "this system has no such call",
    }.get(code, os.strerror(code))


def _opened(event: HardwareEvent) -> int:
    """Open a counter of the calling thread and return its file descriptor.

    Raise :exc:`OSError` if the system refuses.
    """
    number = SYSTEM_CALL_NUMBERS.get(platform.machine())
    if number is None or platform.system() != "Linux":
        raise OSError(errno.ENOSYS, event.name)
    asked = struct.pack(
        "<IIQQQQQ", event.kind, STRUCTURE_BYTES, event.config, 0, 0, READ_FORMAT, EVENT_FLAGS
    ).ljust(STRUCTURE_BYTES, b"\0")
    system: Any = ctypes.CDLL(None, use_errno=True)
    file = system.syscall(number, asked, 0, -1, -1, 0)
    if file < 0:
        raise OSError(ctypes.get_errno(), event.name)
    return int(file)
