"""Kernel of SimGrid: actors that take turns within an instant, one simcall each.

All actors that are awake make their next *simcall* (a lock, an unlock, a signal, a wait) before any
makes another one; then those whose calls are answered make the next. So what two threads do at one
instant is ordered by how many simcalls each needs to come to it, and by who holds what meanwhile.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, TypeAlias

from simpy.events import NORMAL

from tasksim.engine.clock import Routine

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from tasksim.engine.clock import TickClock

__all__ = ["Actor", "Calls", "Condition", "Execution", "Kernel", "Mutex", "TryLock", "Wait"]

Calls: TypeAlias = "Generator[Any, None, Any]"
"""The simcalls of an actor. It yields

- a number of ticks to wait; or, negative, so many simcalls that touch nothing others see;
- a :class:`Mutex`, to lock it, or to unlock the one it holds; :class:`TryLock`;
- :class:`Wait`, until the condition is signalled; a :class:`Condition`, to signal all that wait;
- :class:`Execution`.
"""


class Mutex:
    """A mutual exclusion, handed to those that wait for it in order."""

    __slots__ = ("owner", "waiters")

    def __init__(self) -> None:
        self.owner: Actor | None = None
        self.waiters: list[Actor] = []

    def lock(self, actor: Actor, ready: list[Actor]) -> None:
        """Give it to *actor*, now or in its turn."""
        if self.owner is None:
            self.owner = actor
            ready.append(actor)
        else:
            self.waiters.append(actor)

    def unlock(self, ready: list[Actor]) -> None:
        """Hand it on."""
        if self.waiters:
            self.owner = self.waiters.pop(0)
            ready.append(self.owner)
        else:
            self.owner = None


class Condition:
    """What actors wait for, each with the mutex that it takes again afterwards."""

    __slots__ = ("waiters",)

    def __init__(self) -> None:
        self.waiters: list[tuple[Actor, Mutex]] = []


class Wait:
    """The wait for *condition*, without *mutex* meanwhile."""

    __slots__ = ("condition", "mutex")

    def __init__(self, condition: Condition, mutex: Mutex) -> None:
        self.condition, self.mutex = condition, mutex


class TryLock:
    """A try to lock *mutex*: the actor is its owner then, or not."""

    __slots__ = ("mutex",)

    def __init__(self, mutex: Mutex) -> None:
        self.mutex = mutex


class Execution:
    """A computation of so many *ticks*: those that end at one instant end as they began."""

    __slots__ = ("ticks",)

    def __init__(self, ticks: int) -> None:
        self.ticks = ticks


class Actor(Routine):
    """A thread: the generator of its simcalls, run by a :class:`Kernel`."""

    def __init__(self, clock: TickClock, kernel: Kernel) -> None:
        super().__init__(clock)
        self._kernel = kernel
        self.skip = 0
        """How many simcalls it has to make before it goes on."""

    def begin(self, generator: Generator[Any, None, Any]) -> None:
        """Run *generator* from the present instant on."""
        self.step = generator.__next__
        self._kernel.ready.append(self)

    def wake(self) -> None:
        """Do nothing: who wakes a thread signals what it waits for."""

    def notify(self) -> None:
        """Have the thread woken at the end of this instant, if nobody signals it before."""
        self._kernel.rung.append(self)


class Kernel:
    """The loop over instants, and over the rounds of each.

    Attributes
    ----------
    ready : list of Actor
        Those that make their next simcall in the coming round.
    rung : list of Actor
        Those that were told of something by the engine, not by a thread.
    """

    def __init__(self, clock: TickClock) -> None:
        self._clock = clock
        self.ready: list[Actor] = []
        self.rung: list[Actor] = []
        self.bells: dict[Actor, Callable[[], Condition | None]] = {}
        """Per actor, what rings for it if it sleeps: the condition to signal then."""
        self.advances: list[Condition] = []
        """Those that are signalled whenever the time has advanced."""

    def run(self, progress: Callable[[], int]) -> None:
        """Let everything happen.

        Whenever nothing is left to happen and there was *progress*, all who sleep look around once:
        what the engine asks for by itself, to make room, has no thread that would wake others.
        """
        before = -1
        while before < (now := progress()):
            before = now
            self._drain()
            self.rung += self.bells

    def _drain(self) -> None:
        clock = self._clock
        queue: list[Any] = clock._queue
        self._instant()
        while queue:
            now = queue[0][0]
            if now != clock._now:
                clock._now = now
                for condition in self.advances:
                    if condition.waiters:
                        self._signal(condition)
            while queue and queue[0][0] == now:
                event = heappop(queue)[3]
                if event.__class__ is Actor:
                    self.ready.append(event)
                else:
                    event.callback(event)
            self._instant()

    def _instant(self) -> None:
        """Make the rounds of an instant, until all wait."""
        self._rounds()
        while self.rung:
            rung, self.rung = self.rung, []
            for actor in rung:
                condition = self.bells[actor]()
                if condition is not None:
                    self._signal(condition)
            self._rounds()

    def _rounds(self) -> None:
        while self.ready:
            ran, self.ready = self.ready, []
            calls: list[tuple[Actor, Any]] = []
            for actor in ran:
                if actor.skip:
                    actor.skip -= 1
                    calls.append((actor, 0))
                    continue
                try:
                    call = actor.step()
                except StopIteration:
                    continue
                if call.__class__ is int and call < 0:
                    actor.skip = -call - 1
                    call = 0
                calls.append((actor, call))
            for actor, call in calls:
                if call == 0:
                    self.ready.append(actor)
                else:
                    self._answer(actor, call)

    def _answer(self, actor: Actor, call: Any) -> None:
        kind, ready = call.__class__, self.ready
        if kind is Mutex:
            if call.owner is actor:
                call.unlock(ready)
                ready.append(actor)
            else:
                call.lock(actor, ready)
        elif kind is int:
            self._sleep(actor, call)
        elif kind is Condition:
            self._signal(call)
            ready.append(actor)
        elif kind is Wait:
            call.mutex.unlock(ready)
            call.condition.waiters.append((actor, call.mutex))
        elif kind is Execution:
            self._clock.keep_order()
            self._sleep(actor, call.ticks)
        else:
            call.mutex.owner = call.mutex.owner or actor
            ready.append(actor)

    def _signal(self, condition: Condition) -> None:
        waiters, condition.waiters = condition.waiters, []
        for actor, mutex in waiters:
            mutex.lock(actor, self.ready)

    def _sleep(self, actor: Actor, ticks: int) -> None:
        clock = self._clock
        queue: list[Any] = clock._queue
        heappush(queue, (clock._now + ticks, NORMAL, next(clock._eid), actor))
