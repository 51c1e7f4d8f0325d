"""Counts of the processor itself, by Linux's ``perf_event_open``."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from tasksim.base.errors import TasksimError
from tasksim.formats.counters.events import Counted

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["HARDWARE", "SOFTWARE", "Event", "PerfCounters", "refusal", "scaled"]

CALLS: Final = {"x86_64": 298, "aarch64": 241, "riscv64": 241, "ppc64le": 319}
"""Machine -> the number of the system call."""
ENABLE, DISABLE, RESET = 0x2400, 0x2401, 0x2403
TIMES: Final = 3
"""Of the format in which a count is read: with how long it was wanted, and how long it ran."""
SIZE: Final = 112
"""Of the structure, of the version that all kernels since 4.0 know."""
FLAGS: Final = 1 << 0 | 1 << 5 | 1 << 6
"""Disabled at first; neither the kernel nor the hypervisor counts."""
READ_MISS: Final = 1 << 16


@dataclass(frozen=True)
class Event:
    """What is counted: the name that perf has for it, and how the system is asked for it."""

    name: str
    kind: int
    config: int


HARDWARE: Final = (
    Event("instructions", 0, 1),
    Event("cycles", 0, 0),
    Event("L1-dcache-loads", 3, 0),
    Event("L1-dcache-load-misses", 3, READ_MISS),
    Event("LLC-loads", 3, 2),
    Event("LLC-load-misses", 3, 2 | READ_MISS),
)
"""Those that most processors count; without the last four there is no use of the rest."""
SOFTWARE: Final = (Event("task-clock", 1, 1), Event("page-faults", 1, 2))
"""Those that the system counts, wherever it runs: to try how it is asked."""


class PerfCounters:
    """Counters of this thread, to be read around what is counted.

    ::

        with PerfCounters() as counters:
            counters.start()
            kernel.run()
            counted = counters.stop()

    Parameters
    ----------
    events
        What is counted.

    Raises
    ------
    TasksimError
        If the system refuses: what it said, and what helps.
    """

    def __init__(self, events: tuple[Event, ...] = HARDWARE) -> None:
        self._events = events
        self._files: list[int] = []

    def __enter__(self) -> PerfCounters:
        try:
            for event in self._events:
                self._files.append(_opened(event))
        except TasksimError:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        where: TracebackType | None,
    ) -> None:  # fmt: skip
        self.close()

    def close(self) -> None:
        """Give the counters back."""
        while self._files:
            os.close(self._files.pop())

    def start(self) -> None:
        """Count from nothing."""
        for request in (RESET, ENABLE):
            for file in self._files:
                fcntl.ioctl(file, request, 0)
        self._before = [struct.unpack("<QQQ", os.read(file, 24)) for file in self._files]

    def stop(self) -> Counted:
        """Return what was counted since; scaled where an event had a part of the time only."""
        for file in self._files:
            fcntl.ioctl(file, DISABLE, 0)
        found, notes = {}, []
        for event, file, before in zip(self._events, self._files, self._before, strict=True):
            now = struct.unpack("<QQQ", os.read(file, 24))
            value, wanted, ran = (after - first for after, first in zip(now, before, strict=True))
            found[event.name], note = scaled(event.name, value, wanted, ran)
            notes += note
        return Counted(found, notes=tuple(notes))


def scaled(event: str, value: int, wanted: int, ran: int) -> tuple[float, list[str]]:
    """Return a count for all of the time that it was *wanted*, of which it *ran* a part.

    >>> scaled("cycles", 300, 100, 75)
    (400.0, ['cycles was counted for 75% of the time; scaled to all of it'])
    """
    if wanted and not ran:
        raise TasksimError(f"{event} was not counted: other programs use all counters")
    if ran >= wanted:
        return float(value), []
    note = f"{event} was counted for {ran / wanted:.0%} of the time; scaled to all of it"
    return value * wanted / ran, [note]


def refusal(event: str, code: int) -> str:
    """Return what it means that the system refuses to count an *event*, with an error *code*.

    >>> import errno
    >>> refusal("instructions", errno.EACCES).partition(":")[0]
    'perf_event_open refuses to count instructions'
    """
    why = {
        errno.ENOENT: "this machine does not count it; many virtual machines do not",
        errno.EOPNOTSUPP: "this machine does not count it; many virtual machines do not",
        errno.EINVAL: "this processor does not count it",
        errno.EACCES: "only root may; others may with 'sysctl kernel.perf_event_paranoid=1'",
        errno.EPERM: "not in this container, or only root may: "
        "'sysctl kernel.perf_event_paranoid=1', or a container with --cap-add PERFMON",
        errno.ENOSYS: "this system has no such call",
    }.get(code, os.strerror(code))
    return (
        f"perf_event_open refuses to count {event}: {why}. --source valgrind counts in a "
        "simulated processor"
    )


def _opened(event: Event) -> int:
    """Return the file of a counter of this thread."""
    number = CALLS.get(platform.machine())
    if number is None or platform.system() != "Linux":
        raise TasksimError(refusal(event.name, errno.ENOSYS))
    asked = struct.pack("<IIQQQQQ", event.kind, SIZE, event.config, 0, 0, TIMES, FLAGS).ljust(
        SIZE, b"\0"
    )
    system: Any = ctypes.CDLL(None, use_errno=True)
    file = system.syscall(number, asked, 0, -1, -1, 0)
    if file < 0:
        raise TasksimError(refusal(event.name, ctypes.get_errno()))
    return int(file)
