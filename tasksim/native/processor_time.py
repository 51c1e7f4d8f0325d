"""Processor time of threads, the time in which a worker's thread had a core.

A task loses the part of its wall time in which its thread had no core: because other programs
preempted it, the host of a virtual machine took the core, or its kernel blocked.
"""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from math import inf, isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tasksim.base.threadclock import has_thread_clock, preemptions
from tasksim.run.disturbance import BLOCKING_SHARE, CLOCK_TICK_S, MIN_OWN_SHARE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from tasksim.base.arrays import Floats

__all__ = [
    "CoreState",
    "ProcessorTime",
    "ProcessorUses",
    "ThreadAccount",
    "ThreadClock",
    "UsualLoss",
    "waited_share",
]

READING_INTERVAL_S: Final = 20e-6
"""Shortest time between two readings of the clock, in seconds: a reading is a system call of 0.5
us."""
READING_PAUSE_S: Final = 5e-6
"""Time between two tasks, in seconds, after which a thread reads the clock again: ten times the
core's time between two tasks."""
CLOCK_NOISE_S: Final = 2e-6
"""Difference of the two clocks without any disturbance, in seconds."""
PULSE_INTERVAL_S: Final = 1e-3
"""Shortest time between two pulses of a core, in seconds: one takes 1.5 us."""
MAX_PENDING_TASKS: Final = 256
"""Largest number of tasks that share a reading of the clock."""
SCHEDSTAT: Final = Path("/proc/thread-self/schedstat")


class ProcessorUses:
    """Processor time, preemptions and cores' states of the tasks of a run; NaN and -1: unknown.

    Parameters
    ----------
    tasks : int
        Number of tasks.

    Attributes
    ----------
    cpu_s : ndarray, float64 [tasks]
        Processor time in seconds.
    preemptions : ndarray, int32 [tasks]
        Number of times that the system took the core from the task.
    pulse : ndarray, float64 [tasks]
        Mean of the pulses before and after the task, relative to the idle pulse.
    beat : ndarray, float64 [tasks]
        Mean of the beats before and after the task, relative to the idle beat.
    """

    def __init__(self, tasks: int) -> None:
        self.cpu_s: Floats = np.full(tasks, np.nan)
        self.preemptions: NDArray[np.int32] = np.full(tasks, -1, np.int32)
        self.pulse: Floats = np.full(tasks, np.nan)
        self.beat: Floats = np.full(tasks, np.nan)

    def double(self) -> None:
        """Double the number of tasks; the new ones are unknown."""
        more = ProcessorUses(len(self.cpu_s))
        self.cpu_s = np.concatenate([self.cpu_s, more.cpu_s])
        self.preemptions = np.concatenate([self.preemptions, more.preemptions])
        self.pulse = np.concatenate([self.pulse, more.pulse])
        self.beat = np.concatenate([self.beat, more.beat])


class CoreState:
    """Pulse and beat of a thread's core over time, relative to an idle core.

    Only this thread calls it. They are read at most every :data:`PULSE_INTERVAL_S`, between tasks.

    Parameters
    ----------
    pulse : callable
        Function that returns both.

    Attributes
    ----------
    last : tuple of float
        The last pulse and beat.
    due_s : float
        Time of the next reading.
    """

    def __init__(self, pulse: Callable[[], tuple[float, float]]) -> None:
        self._pulse = pulse
        self.last = (1.0, 1.0)
        self.due_s = -inf

    def read(self, now_s: float) -> tuple[float, float]:
        """Read them; return the means of these and of the last ones, at least 1."""
        now = self._pulse()
        pulse, beat = ((last + read) / 2 for last, read in zip(self.last, now, strict=True))
        mean = max(pulse, 1.0), max(beat, 1.0)  # an unknown beat remains NaN
        self.last, self.due_s = now, now_s + PULSE_INTERVAL_S
        return mean


class ProcessorTime:
    """Processor time of the tasks of one thread; only this thread calls it.

    The clock is read at most every :data:`READING_INTERVAL_S`, so that the tasks between two
    readings share them, and after a pause, which belongs to no task. The time lost between two
    readings is charged to the longest of their tasks: tasks between readings are short unless one
    was interrupted. The pulse and the beat of the core are taken every :data:`PULSE_INTERVAL_S`,
    between tasks: those between two readings have their mean. The core does the same, with fewer
    readings where the system tells that a thread lost its core (``core/native/processor_time.h``).

    Parameters
    ----------
    uses : ProcessorUses
        Receives the processor time of each task.
    clock, preemptions : callable, optional
        Functions that return the thread's processor time in seconds and its preemptions.
    pulse : callable, optional
        Function that returns the pulse and the beat of the thread's core, relative to an idle core.
        Default: they are unknown.

    Examples
    --------
    A task takes 5 ms, and its thread had a core for 3 of them:

    >>> uses, clock, taken = ProcessorUses(1), iter([0.0, 0.001, 0.004]), iter([0, 2])
    >>> account = ProcessorTime(uses, lambda: next(clock), lambda: next(taken))
    >>> account.begin(0.0)
    >>> account.look_after_pause(0.001)
    True
    >>> account.ended(0, 0.001, 0.006)
    >>> round(float(uses.cpu_s[0]), 6), int(uses.preemptions[0])
    (0.003, 2)
    """

    def __init__(
        self,
        uses: ProcessorUses,
        clock: Callable[[], float] = time.thread_time,
        preemptions: Callable[[], int] = preemptions,
        pulse: Callable[[], tuple[float, float]] | None = None,
    ) -> None:
        self._uses, self._clock, self._preemptions = uses, clock, preemptions
        self._pending: list[tuple[float, int]] = []
        """Durations and numbers of the tasks since the last reading."""
        self._core = None if pulse is None else CoreState(pulse)
        self._since_pulse: list[int] = []
        """Numbers of the tasks since the last pulse."""
        self._looked_s = 0.0
        """Time of the last reading of the clock."""

    def begin(self, now_s: float) -> None:
        """Start the account; call it in the thread itself."""
        self._preempted = self._preemptions()
        if self._core is not None:
            self._core.read(now_s)
        self._looked(now_s, self._clock())

    def look_after_pause(self, now_s: float) -> bool:
        """Read the clock if time passed since the last task ended; return whether it did.

        Call it before a task starts: the pause belongs to no task.
        """
        if now_s - self._ended_s < READING_PAUSE_S:
            return False
        if self._core is not None and now_s >= self._core.due_s:
            self._take_pulse(now_s, self._core)
        self._look(now_s)
        return True

    def ended(self, task: int, start_s: float, end_s: float) -> None:
        """Note that a task has ended."""
        # A thread that lost its core in the reading lost it before its first task.
        if not self._pending and start_s - self._looked_s >= READING_PAUSE_S:
            self._looked_s = start_s
        self._pending.append((end_s - start_s, task))
        self._ended_s = end_s
        if end_s - self._looked_s >= READING_INTERVAL_S or len(self._pending) >= MAX_PENDING_TASKS:
            self._look(end_s)
        if self._core is None:
            return
        self._since_pulse.append(task)
        if end_s >= self._core.due_s:
            self._take_pulse(end_s, self._core)

    def finish(self, now_s: float) -> None:
        """End the account; call it in the thread itself."""
        if self._pending:
            self._look(now_s)
        if self._core is not None:
            self._take_pulse(now_s, self._core)

    def _take_pulse(self, now_s: float, core: CoreState) -> None:
        """Read pulse and beat, and give the tasks since the last reading the mean of both."""
        pulse, beat = core.read(now_s)
        if self._since_pulse:
            tasks = np.array(self._since_pulse)
            self._uses.pulse[tasks], self._uses.beat[tasks] = pulse, beat
            self._since_pulse.clear()

    def _look(self, now_s: float) -> None:
        """Read the clock; time lost after the end of the last task is charged to no task."""
        cpu_s = self._clock()
        lost_s = (now_s - self._looked_s) - (cpu_s - self._cpu_s)
        pause_s = now_s - self._ended_s
        self._share_out(lost_s - min(lost_s, pause_s))
        if pause_s > 0 and lost_s > CLOCK_NOISE_S:
            self._preempted = self._preemptions()
        self._looked(now_s, cpu_s)

    def _looked(self, now_s: float, cpu_s: float) -> None:
        self._pending.clear()
        self._looked_s = self._ended_s = now_s
        self._cpu_s = cpu_s

    def _share_out(self, lost_s: float) -> None:
        """Record the processor time of all pending tasks, which lost *lost_s* in total."""
        uses, pending = self._uses, self._pending
        if len(pending) == 1:
            [(duration_s, task)] = pending
            uses.preemptions[task] = 0
            self._lose(duration_s, task, max(lost_s, 0.0))
            return
        for duration_s, task in pending:
            uses.cpu_s[task], uses.preemptions[task] = duration_s, 0
        if lost_s > CLOCK_NOISE_S:
            # The longest task takes the loss: a short one would hardly have been interrupted.
            for duration_s, task in sorted(pending, key=lambda each: -each[0]):
                self._lose(duration_s, task, lost_s)
                lost_s -= duration_s
                if lost_s <= 0:
                    break

    def _lose(self, duration_s: float, task: int, lost_s: float) -> None:
        """Record the loss of a task; the first task that lost time gets all preemptions so far."""
        self._uses.cpu_s[task] = duration_s - min(lost_s, duration_s)
        if lost_s > CLOCK_NOISE_S:
            now = self._preemptions()
            self._uses.preemptions[task] = now - self._preempted
            self._preempted = now


class ThreadClock:
    """Processor time clock of the calling thread; other threads can read it while it runs."""

    def __init__(self) -> None:
        self._clock: int | None = None
        if has_thread_clock() and hasattr(time, "pthread_getcpuclockid"):
            self._clock = time.pthread_getcpuclockid(threading.get_ident())

    def now_s(self) -> float:
        """Return the processor time in seconds; NaN if other threads cannot read it."""
        return nan if self._clock is None else time.clock_gettime(self._clock)


class UsualLoss:
    """Usual loss of a kernel, that is time without a core in undisturbed executions.

    Such a kernel waits for something else. The core does the same
    (``core/native/processor_time.h``).

    Examples
    --------
    >>> usual = UsualLoss()
    >>> usual.own_s(2.0, 1.0, preempted=False), usual.own_s(5.0, 1.0, preempted=True)
    (2.0, 2.0)
    """

    def __init__(self) -> None:
        self._shares, self._count = 0.0, 0

    def own_s(self, wall_s: float, cpu_s: float, *, preempted: bool) -> float:
        """Return the undisturbed duration of an execution; *wall_s* if *cpu_s* is NaN (unknown)."""
        if isnan(cpu_s):
            return wall_s
        if not preempted:
            self._shares += max(1.0 - cpu_s / wall_s, 0.0) if wall_s > 0 else 0.0
            self._count += 1
            return wall_s
        return min(max(cpu_s, CLOCK_TICK_S) / max(1.0 - self._share, MIN_OWN_SHARE), wall_s)

    @property
    def blocks(self) -> bool:
        """Whether the kernel waits as a rule: then others on the processor do not slow it."""
        return self._share > BLOCKING_SHARE

    @property
    def _share(self) -> float:
        return self._shares / self._count if self._count else 0.0


class ThreadAccount(NamedTuple):
    """Times of a thread since its start, as the system reports them."""

    cpu_s: float
    """Processor time in seconds."""
    waited_s: float
    """Time in seconds in which it was ready and had no core; NaN if the system does not report it.
    """
    preemptions: int
    """Number of times that the system took the core from it."""

    @classmethod
    def now(cls) -> ThreadAccount:
        """Return the account of the calling thread."""
        waited_s = float("nan")
        with suppress(OSError, ValueError, IndexError):
            waited_s = 1e-9 * int(SCHEDSTAT.read_text(encoding="ascii").split()[1])
        return cls(time.thread_time(), waited_s, preemptions())

    def since(self, earlier: ThreadAccount) -> ThreadAccount:
        """Return the difference to an *earlier* account of the same thread."""
        return ThreadAccount(
            self.cpu_s - earlier.cpu_s,
            self.waited_s - earlier.waited_s,
            self.preemptions - earlier.preemptions,
        )


def waited_share(accounts: Sequence[ThreadAccount | None]) -> float | None:
    """Return the share of the time in which threads wanted a core but had none; None: unknown.

    Examples
    --------
    >>> waited_share([ThreadAccount(3.0, 1.0, 7), ThreadAccount(0.0, 0.0, 0)])
    0.25
    """
    known = [account for account in accounts if account is not None]
    wanted_s = sum(account.cpu_s + account.waited_s for account in known)
    if len(known) < len(accounts) or not wanted_s > 0:  # true for NaN, too
        return None
    return sum(account.waited_s for account in known) / wanted_s
