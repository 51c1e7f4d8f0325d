"""Simulated clock, SimPy's environment in whole nanoseconds.

Sums of whole nanoseconds do not depend on the order of their terms, so that events meant for the
same instant happen at that instant. Within an instant, events happen in the order of their *phase*.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from simpy import Environment, Event, Process, Timeout
from simpy.core import EmptySchedule

if TYPE_CHECKING:
    from simpy.core import SimTime
    from simpy.events import EventPriority

__all__ = ["END_PHASE", "LAST_PHASE", "Clock", "Routine", "Steps", "Wait"]

Steps: TypeAlias = Generator[Event, Any, Any]
"""A generator of SimPy events, as :class:`simpy.Process` takes it."""

END_PHASE: Final = 1.0
"""Phase of ends within an instant: before all beginnings."""
FIRST_PHASE: Final = 0.0
"""Phase of events that have none, such as the start of a process: before all others."""
LAST_PHASE: Final = inf
"""Phase of events at the end of an instant, such as sharing a network anew among all flows."""

EVENTS_PER_LOOK: Final = 1000
"""Number of events between two looks at a run: some ten milliseconds."""


class Wait(Timeout):
    """A timeout with a phase among the events of the instant at which it ends."""

    def __init__(
        self, clock: Clock, delay: int, phase: float = END_PHASE, value: Any = None
    ) -> None:
        self.phase = phase  # first: SimPy's timeout schedules itself, which looks at the phase
        super().__init__(clock, delay, value)


class Clock(Environment):
    """SimPy's environment, with the events of one instant ordered by phase.

    Events of equal phase happen in the order in which they were scheduled, or in the reverse order
    after :meth:`end_waits_in_reverse`.
    """

    def __init__(self) -> None:
        super().__init__(0)
        self._reversed = False
        self._forward = False
        self._scheduled = 0

    if TYPE_CHECKING:

        @property
        def now(self) -> int:
            """The current time in ticks."""

    def schedule(
        self,
        event: Event,
        priority: EventPriority = 1,  # type: ignore[assignment]  # noqa: ARG002
        delay: SimTime = 0,
    ) -> None:
        """Schedule *event* after *delay* ticks, by its phase."""
        phase = getattr(event, "phase", FIRST_PHASE)
        order = self._order() if self._reversed and phase > FIRST_PHASE else 0
        # SimPy only compares priorities, so a tuple can take the place of its number.
        super().schedule(event, cast("EventPriority", (phase, order)), delay)

    def alarm(
        self,
        delay: int,
        callback: Callable[[Any], None],
        value: Any = None,
        phase: float = END_PHASE,
    ) -> None:
        """Call *callback* after *delay* ticks with an event of that *value*."""
        Wait(self, delay, phase, value).callbacks.append(callback)

    def run_watched(self, look: Callable[[], None] | None) -> None:
        """Run until no event is left; call *look* after every :data:`EVENTS_PER_LOOK` events."""
        with suppress(EmptySchedule):
            while True:
                for _ in range(EVENTS_PER_LOOK):
                    self.step()
                if look is not None:
                    look()

    def at_once(self, event: Event) -> None:
        """Process *event*, which was triggered just now, before the caller continues."""
        while not event.processed:
            self.step()

    def end_waits_in_reverse(self) -> None:
        """Reverse the order of waits that begin at the same instant and end at the same instant.

        SimGrid does so: it puts a sleep in front of actions that began at the same instant
        (``CpuCas01::sleep``), and an execution behind them, see :meth:`keep_order`.
        """
        self._reversed = True

    def keep_order(self) -> None:
        """Let the next wait end after the waits that began before it, even in reverse order."""
        self._forward = True

    def _order(self) -> int:
        """Return a number that decreases from event to event, and increases between instants."""
        self._scheduled += 1
        step = self._scheduled if self._forward else -self._scheduled
        self._forward = False
        return (self.now << 44) + step  # room for 2**43 events, more than any run has


class Routine:
    """A SimPy process that sleeps until another one wakes it, like a thread of the runtime.

    Attributes
    ----------
    phase : float
        Phase of its waits; its generator sets it before it waits.
    asleep : bool
        Whether it sleeps.
    woken : bool
        Whether it was woken since its generator set this to False; a generator checks this before
        it sleeps.
    notified : bool
        Whether there is something new for it, beside the end of its own request.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.phase = END_PHASE
        self.asleep = self.woken = self.notified = False

    def begin(self, steps: Steps) -> None:
        """Run *steps* as a process, at once up to its first event."""
        process = self._clock.process(steps)
        process.callbacks.append(_raise_failure)
        self._clock.at_once(process.target)

    def wait(self, delay: int) -> Wait:
        """Return an event that happens after *delay* ticks."""
        return Wait(self._clock, delay, self.phase)

    def sleep(self) -> Event:
        """Return an event that happens when the routine is woken."""
        self.asleep = True
        self._alarm = self._clock.event()
        return self._alarm

    def wake(self) -> None:
        """Continue the process at once if it sleeps; otherwise keep it from falling asleep.

        The caller continues when the process waits again.
        """
        self.woken = True
        if self.asleep:
            self.asleep = False
            self._clock.at_once(self._alarm.succeed())

    def notify(self) -> None:
        """Wake the process, and note that there is something new for it."""
        self.notified = True
        self.wake()


def _raise_failure(process: Process) -> None:
    """Raise the original error that ended *process*; SimPy would raise a copy."""
    if not process.ok:
        raise cast("BaseException", process.value)
