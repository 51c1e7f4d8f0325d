"""Clock of a replay: SimPy's, with events that cost little, and routines.

That of one memory counts seconds. That of machines with devices counts whole nanoseconds: sums of
microseconds come out equal whatever the order in which they are added, so that things meant to
happen at one instant do. What replays note is in seconds either way.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, TypeAlias

from simpy.core import Environment
from simpy.events import NORMAL, Event

from tasksim.engine.ticks import TICK_S, TICKS_PER_S, ticks

if TYPE_CHECKING:
    from simpy.core import SimTime

__all__ = [
    "TICKS_PER_S",
    "TICK_S",
    "Alarm",
    "Clock",
    "Routine",
    "Steps",
    "TickClock",
    "run",
    "ticks",
]

Steps: TypeAlias = Generator[int | None, None, Any]
"""A generator that yields how many ticks to wait, or None: until it is woken."""


class Clock(Environment):
    """SimPy's environment, for a replay: it counts seconds."""

    def __init__(self, start: float = 0.0) -> None:
        super().__init__(start)


class TickClock(Clock):
    """The clock of machines with devices: it counts whole ticks."""

    _now: int
    _eid: Any

    def __init__(self) -> None:
        super().__init__(0)
        self.keep_order: Callable[[], None] = _nothing
        """Lets the next wait end after those that were begun before it, as waits do by themselves;
        where they end in reverse, the run of a kernel does not."""

    def end_waits_in_reverse(self) -> None:
        """Let waits that were begun at one instant, and end at one, end last begun first."""
        order = self._eid = LastFirst(self)
        self.keep_order = order.keep


def _nothing() -> None:
    pass


class LastFirst:
    """Numbers of events: those of one instant fall, from one instant to the next they rise.

    As in SimGrid, which puts a sleep in front of what began at the same instant
    (``CpuCas01::sleep``), and an execution behind it.
    """

    def __init__(self, clock: TickClock) -> None:
        self._clock = clock
        self._count = 0
        self._forward = False

    def keep(self) -> None:
        """Let the next number be higher than those before."""
        self._forward = True

    def __next__(self) -> int:
        self._count += 1
        step = self._count if self._forward else -self._count
        self._forward = False
        return (self._clock._now << 44) + step  # room for 2**43 events, more than anybody waits for


class Alarm:
    """What happens after *delay* and hands itself, with its *value*, to one *callback*.

    SimPy's :class:`~simpy.events.Timeout` without what a replay does not use: only :func:`run`
    knows what to do with it. No :class:`~simpy.events.Event`, whose instances have a dictionary
    each: to make one of these takes half the time.
    """

    __slots__ = ("callback", "value")

    def __init__(
        self,
        env: Environment,
        delay: SimTime,
        value: Any,
        callback: Callable[[Any], None],
        rank: float = NORMAL,
    ) -> None:
        self.value = value
        self.callback = callback
        queue: list[Any] = env._queue
        heappush(queue, (env._now + delay, rank, next(env._eid), self))


class Routine(Event):
    """A generator that runs, waits as long as it asks for, and sleeps until it is woken.

    It is the event that it waits for itself: nothing is made anew for a step. ``rank`` says which
    of the things that happen at one instant come first, the lowest; the generator sets it before it
    yields. ``woken`` says that somebody has called :meth:`wake` since the generator set it
    to False; a generator that is about to sleep looks at it first.
    """

    def __init__(self, env: TickClock) -> None:
        self.env = env
        self.rank: float = NORMAL
        self.asleep = False
        self.woken = False
        self.notified = False
        """Whether it was told of something new, not just that what it began itself has ended."""
        self._ok = True
        self._value = None
        self.callbacks = [self._go_on]

    def begin(self, generator: Steps) -> None:
        """Run *generator* up to its first wait."""
        self.step = generator.__next__
        self._go_on()

    def wake(self) -> None:
        """Let the generator go on, if it sleeps; else see to it that it does not fall asleep."""
        self.woken = True
        if self.asleep:
            self.asleep = False
            self._go_on()

    def notify(self) -> None:
        """Wake, and note that it was for more than the end of what it had begun itself."""
        self.notified = True
        self.wake()

    def _go_on(self, _event: Event | None = None) -> None:
        try:
            delay = self.step()
        except StopIteration:
            return
        if delay is None:
            self.asleep = True
        else:
            # What env.schedule does, without the call.
            env = self.env
            queue: list[Any] = env._queue
            heappush(queue, (env._now + delay, self.rank, next(env._eid), self))


def run(env: Clock) -> None:
    """Let everything happen, as ``env.run()`` does, at less cost for each event.

    Events are not marked as processed: nobody waits for those of a replay. A routine's step is
    written out here: this is the hottest loop of a replay.
    """
    queue: list[Any] = env._queue
    count = env._eid
    while queue:
        now, _, _, event = heappop(queue)
        env._now = now
        if event.__class__ is Routine:
            try:
                delay = event.step()
            except StopIteration:
                continue
            if delay is None:
                event.asleep = True
            else:
                heappush(queue, (now + delay, event.rank, next(count), event))
        else:
            event.callback(event)
