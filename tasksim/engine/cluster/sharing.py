"""Sharing of cores by nodes that are ranks of one machine, with fewer cores than workers.

The system gives every running task its share of the cores, in turns that are short relative to
tasks: all tasks run at the same rate, cores over tasks if there are more tasks.
"""

from __future__ import annotations

from heapq import heappop, heappush
from math import ceil, inf
from typing import TYPE_CHECKING, Any

from tasksim.engine.ticks import END_ROUNDING_TICKS

if TYPE_CHECKING:
    from tasksim.engine.clock import Clock, Routine, Steps

__all__ = ["SharedCores"]


class SharedCores:
    """Cores on which workers of several nodes run their tasks.

    Parameters
    ----------
    clock : Clock
        The clock.
    cores : int
        Number of tasks that proceed at full rate.
    """

    def __init__(self, clock: Clock, cores: int) -> None:
        self._clock = clock
        self._cores = cores
        self._running: list[tuple[float, int, Routine]] = []
        """Heap of the value of *done* at which a task ends, its number, and its routine."""
        self._done = 0.0
        """Ticks of work that a task would have done that has run since the start."""
        self._rate = 1.0
        """Ticks of work per tick of each task, since the time *since*."""
        self._since = 0
        self._count = 0
        self._ended: set[int] = set()
        """Numbers of ended tasks whose routines have not gone on yet."""
        self._alarm: float = inf
        """Time of the alarm for the first end; infinite if there is none."""

    def run(self, ticks: int, routine: Routine) -> Steps:
        """Wait on *routine* until *ticks* of work are done."""
        self._come_to_now()
        self._count += 1
        number = self._count
        heappush(self._running, (self._done + ticks, number, routine))
        self._set_rate()
        while number not in self._ended:
            routine.woken = False
            yield routine.sleep()
        self._ended.remove(number)

    def _come_to_now(self) -> None:
        """Add the work done since the last change of the rate."""
        now = self._clock.now
        self._done += self._rate * (now - self._since)
        self._since = now

    def _set_rate(self) -> None:
        """Set the rate for the present number of tasks, and wait for the first end."""
        running = len(self._running)
        self._rate = 1.0 if running <= self._cores else self._cores / running
        if not running:
            self._alarm = inf
            return
        left = ceil((self._running[0][0] - self._done) / self._rate - END_ROUNDING_TICKS)
        end = self._clock.now + max(0, left)
        if end != self._alarm:
            self._alarm = end
            self._clock.alarm(end - self._clock.now, self._on_alarm, end)

    def _on_alarm(self, event: Any) -> None:
        if event.value != self._alarm:  # the rate has changed since it was set
            return
        self._alarm = inf
        self._come_to_now()
        ended = []
        while self._running and self._running[0][0] - self._done <= END_ROUNDING_TICKS:
            _, number, routine = heappop(self._running)
            self._ended.add(number)
            ended.append(routine)
        self._set_rate()
        for routine in ended:
            routine.wake()
