"""Timed executions of a kernel without time that others took, and the clock's resolution."""

from __future__ import annotations

from itertools import pairwise
from time import perf_counter, perf_counter_ns
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tasksim.base.threadclock import has_thread_clock
from tasksim.native.cache_state import cache_state
from tasksim.native.processor_time import ProcessorTime, ProcessorUses
from tasksim.native.pulse import relative_pulse
from tasksim.run.crowding import UNKNOWN_CACHES, crowding_at, crowding_weights
from tasksim.run.disturbance import BLOCKING_SHARE, CLOCK_TICK_S, own_s

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tasksim.base.arrays import Floats, Indices
    from tasksim.native.pulse import Idle
    from tasksim.run.crowding import CacheState

__all__ = ["MIN_RESOLUTIONS", "ExecutionTimes", "TimedExecutions", "timer_resolution"]

INITIAL_CAPACITY: Final = 1024
"""Initial capacity in executions; it doubles when it is full."""


class ExecutionTimes(NamedTuple):
    """Durations of consecutive executions."""

    with_core_s: Floats
    """Durations without the time in which others had the core."""
    wall_s: Floats
    """Durations by the wall clock."""
    crowding: Floats
    """Factor by which others on the same processor made each of them longer."""

    @classmethod
    def of(
        cls,
        wall_s: Floats,
        uses: ProcessorUses,
        kernel: str = "",
        caches: CacheState = UNKNOWN_CACHES,
    ) -> ExecutionTimes:
        """Return the times of executions of *kernel*, of which *uses* may know more.

        *caches* is the state of the caches (:mod:`tasksim.native.cache_state`).

        Others took the time that an execution lost. For a kernel that waits in every execution,
        this holds only for preempted executions, and others on the processor do not matter.
        """
        count = len(wall_s)
        cpu_s, whole = uses.cpu_s[:count], uses.preemptions[:count] <= 0
        lost_s = np.where(np.isfinite(cpu_s), np.maximum(wall_s - cpu_s, 0.0), 0.0)
        usual = float(np.median(lost_s[whole] / wall_s[whole])) if whole.any() else 0.0
        computes = usual <= BLOCKING_SHARE
        factors = np.ones(count)
        if computes:
            weights = crowding_weights([kernel], caches)[0]
            factors = crowding_at(uses.pulse[:count], uses.beat[:count], weights)
        return cls(own_s(wall_s, lost_s, usual, ~whole | computes), wall_s, factors)

    @property
    def own_s(self) -> Floats:
        """Durations without others."""
        return self.with_core_s / self.crowding

    @property
    def others_share(self) -> float:
        """Share of the time in which others had the core."""
        return 1.0 - float(self.with_core_s.sum() / self.wall_s.sum())

    def only(self, chosen: Indices | slice) -> ExecutionTimes:
        """Return the times of the *chosen* executions."""
        return ExecutionTimes(*(each[chosen] for each in self))

    @classmethod
    def of_all(cls, parts: Iterable[ExecutionTimes]) -> ExecutionTimes:
        """Return the times of all *parts* in order."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))


class TimedExecutions:
    """Timer of executions of one kernel by one thread.

    Only this thread calls it.

    Short executions share a reading of the thread's processor time, which is a system call.

    Parameters
    ----------
    idle : Idle, optional
        Idle state of the thread's core (:mod:`tasksim.native.pulse`). Default: the time that others
        on the same processor take is unknown.
    account : callable, optional
        Creates the account of the thread's processor time, which takes the thread's pulse if it is
        given a function for it.
    kernel : str, optional
        Name of the kernel, which tells how much a pulse counts.

    Examples
    --------
    >>> executions = TimedExecutions()
    >>> for _ in range(3):
    ...     executions.time(lambda: sum(range(1000)))
    >>> times = executions.times()
    >>> len(executions), bool((times.own_s <= times.wall_s).all())
    (3, True)
    """

    def __init__(
        self,
        idle: Idle | None = None,
        account: Callable[..., ProcessorTime] = ProcessorTime,
        kernel: str = "",
    ) -> None:
        self._kernel, self._takes_pulses = kernel, idle is not None
        self._wall_s: list[float] = []
        self._uses = ProcessorUses(INITIAL_CAPACITY)
        pulse = None if idle is None else relative_pulse(idle)
        self._account = account(self._uses, pulse=pulse) if has_thread_clock() else None

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
        caches = cache_state() if self._takes_pulses else UNKNOWN_CACHES
        return ExecutionTimes.of(np.array(self._wall_s), self._uses, self._kernel, caches)


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
