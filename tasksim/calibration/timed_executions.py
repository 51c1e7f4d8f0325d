"""Timed executions of a kernel without time that others took, and the clock's resolution."""

from __future__ import annotations

from itertools import pairwise
from time import perf_counter, perf_counter_ns
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tasksim.base.threadclock import has_thread_clock
from tasksim.native.processor_time import ProcessorTime, ProcessorUses
from tasksim.run.disturbance import BLOCKING_SHARE, CLOCK_TICK_S, own_s

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from tasksim.base.arrays import Floats, Indices

__all__ = ["MIN_RESOLUTIONS", "ExecutionTimes", "TimedExecutions", "timer_resolution"]

INITIAL_CAPACITY: Final = 1024
"""Initial capacity in executions; it doubles when it is full."""


class ExecutionTimes(NamedTuple):
    """Durations of consecutive executions."""

    own_s: Floats
    """Durations without time that others took."""
    wall_s: Floats
    """Durations by the wall clock."""

    @classmethod
    def of(cls, wall_s: Floats, cpu_s: Floats, preemptions: NDArray[np.int32]) -> ExecutionTimes:
        """Return the times of executions of one kernel that had a core for *cpu_s*; NaN: unknown.

        Others took the time that an execution lost. For a kernel that waits in every execution,
        this holds only for preempted executions.
        """
        lost_s = np.where(np.isfinite(cpu_s), np.maximum(wall_s - cpu_s, 0.0), 0.0)
        whole = preemptions <= 0
        usual = float(np.median(lost_s[whole] / wall_s[whole])) if whole.any() else 0.0
        interrupted = ~whole | (usual <= BLOCKING_SHARE)
        return cls(own_s(wall_s, lost_s, usual, interrupted), wall_s)

    @property
    def others_share(self) -> float:
        """Share of the time that others took."""
        return 1.0 - float(self.own_s.sum() / self.wall_s.sum())

    def only(self, chosen: Indices | slice) -> ExecutionTimes:
        """Return the times of the *chosen* executions."""
        return ExecutionTimes(self.own_s[chosen], self.wall_s[chosen])

    @classmethod
    def of_all(cls, parts: Iterable[ExecutionTimes]) -> ExecutionTimes:
        """Return the times of all *parts* in order."""
        own_s, wall_s = zip(*parts, strict=True)
        return cls(np.concatenate(own_s), np.concatenate(wall_s))


class TimedExecutions:
    """Timer of executions of one kernel by one thread.

    Only this thread calls it.

    Short executions share a reading of the thread's processor time, which is a system call.

    Parameters
    ----------
    account : callable, optional
        Creates the account of the thread's processor time.

    Examples
    --------
    >>> executions = TimedExecutions()
    >>> for _ in range(3):
    ...     executions.time(lambda: sum(range(1000)))
    >>> times = executions.times()
    >>> len(executions), bool((times.own_s <= times.wall_s).all())
    (3, True)
    """

    def __init__(self, account: Callable[[ProcessorUses], ProcessorTime] = ProcessorTime) -> None:
        self._wall_s: list[float] = []
        self._uses = ProcessorUses(INITIAL_CAPACITY)
        self._account = account(self._uses) if has_thread_clock() else None

    def __len__(self) -> int:
        return len(self._wall_s)

    def time(self, execute: Callable[[], object]) -> None:
        """Run *execute*, and record its duration."""
        account, number = self._account, len(self._wall_s)
        if number == len(self._uses.cpu_s):
            self._uses.double()
        if account is not None:
            if number:
                account.look_after_pause(perf_counter())
            else:
                account.begin(perf_counter())
        begun = perf_counter()
        execute()
        ended = perf_counter()
        self._wall_s.append(max(ended - begun, CLOCK_TICK_S))
        if account is not None:
            account.ended(number, begun, ended)

    def times(self) -> ExecutionTimes:
        """Return the times of all executions so far."""
        if self._account is not None and self._wall_s:
            self._account.finish(perf_counter())
        wall_s, uses = np.array(self._wall_s), self._uses
        count = len(wall_s)
        return ExecutionTimes.of(wall_s, uses.cpu_s[:count], uses.preemptions[:count])


MIN_RESOLUTIONS: Final = 100
"""Number of resolutions below which a duration is known to no better than a percent."""
CLOCK_READINGS: Final = 2000
"""Number of readings, a tenth of a millisecond in all: their least difference is stable from a
hundred on."""


def timer_resolution() -> float:
    """Return the least difference between two readings of the clock, in seconds.

    It is measured, not looked up: the clock counts nanoseconds, but a reading takes tens of them,
    and a measured duration is too long by this time.
    """
    readings = [perf_counter_ns() for _ in range(CLOCK_READINGS)]
    steps = [b - a for a, b in pairwise(readings) if b > a]
    return min(steps) / 1e9 if steps else 1e-9
