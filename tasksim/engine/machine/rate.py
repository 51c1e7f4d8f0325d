"""Rate of tasks whose neighbours slow them down: remaining work, timed again whenever those change.

A task's work is what it takes alone, in ticks. It is done at a rate, one over the stretch that
:class:`~tasksim.engine.slowing.Slowing` says, which changes when a task of its memory domain starts
or ends. What starts and ends within an instant is settled once, at its end, as messages that share
a network are (:mod:`tasksim.engine.cluster.flows`).
"""

from __future__ import annotations

from math import ceil, inf
from typing import TYPE_CHECKING, Any, Final

from tasksim.engine.clock import Alarm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.engine.clock import Routine, Steps, TickClock
    from tasksim.engine.slowing import Slowing

__all__ = ["Rate"]

LAST: Final = inf
"""The rank of what happens at the end of an instant."""
ROUNDING: Final = 1e-6
"""Of a tick: without it, a task that ends on a tick would end one later."""


class _Running:
    """A task under way: the ticks of work that remained *since*, and its stretch from then on."""

    __slots__ = ("end", "kind", "over", "remaining", "routine", "since", "stretch")

    def __init__(self, kind: int, work: int, routine: Routine, now: int) -> None:
        self.kind, self.remaining, self.routine, self.since = kind, float(work), routine, now
        self.stretch, self.end, self.over = 0.0, inf, False


class _Domain:
    """What runs in a memory domain: how many of each kind, and the tasks as they have begun."""

    __slots__ = ("alarm", "counts", "number", "running")

    def __init__(self, number: int, kinds: int) -> None:
        self.number = number
        self.counts = [0] * kinds
        self.running: list[_Running] = []
        self.alarm: float = inf


class Rate:
    """The tasks that run on the workers of memory domains.

    Parameters
    ----------
    clock : TickClock
        When things happen.
    slowing : Slowing
        How tasks slow each other down.
    kernel : sequence of int
        The kernel of each task.
    class_of : sequence of int
        The class of each worker.
    """

    def __init__(
        self, clock: TickClock, slowing: Slowing, kernel: Sequence[int], class_of: Sequence[int]
    ) -> None:
        self._clock, self._slowing, self._kernel = clock, slowing, kernel
        kinds = len(slowing.kinds)
        domains = [_Domain(number, kinds) for number in range(len(slowing.curves))]
        self._domain = [domains[of] if of >= 0 else None for of in slowing.domain_of]
        self._first = [slowing.kinds.first[group] for group in class_of]
        self._changed: dict[_Domain, None] = {}

    def run(self, task: int, worker: int, work: int, routine: Routine) -> Steps:
        """Let *worker*, whose *routine* this is, run *task*, which alone takes so many ticks."""
        domain = self._domain[worker]
        if domain is None or not work:
            self._clock.keep_order()
            yield work
            return
        kind = self._first[worker] + self._kernel[task]
        running = _Running(kind, work, routine, self._clock._now)
        domain.running.append(running)
        domain.counts[kind] += 1
        self._settle_soon(domain)
        while not running.over:
            yield None

    def _settle_soon(self, domain: _Domain) -> None:
        """Settle *domain* at the end of this instant."""
        if not self._changed:
            Alarm(self._clock, 0, None, self._settle, LAST)
        self._changed[domain] = None

    def _settle(self, _event: Any) -> None:
        changed, self._changed = self._changed, {}
        for domain in changed:
            self._retime(domain)
            self._set_alarm(domain)

    def _retime(self, domain: _Domain) -> None:
        """Note what each task has done so far, and when it ends at its new rate."""
        stretches, now = self._slowing.stretches(domain.number, domain.counts), self._clock._now
        for running in domain.running:
            stretch = stretches[running.kind]
            if stretch == running.stretch:
                continue
            if running.stretch:
                running.remaining -= (now - running.since) / running.stretch
            running.since, running.stretch = now, stretch
            running.end = now + max(0, ceil(running.remaining * stretch - ROUNDING))

    def _set_alarm(self, domain: _Domain) -> None:
        """Wait for the task that ends first."""
        first = min((running.end for running in domain.running), default=inf)
        if first == domain.alarm or first == inf:
            return
        domain.alarm = first
        self._clock.keep_order()
        Alarm(self._clock, first - self._clock._now, (domain, first), self._on_alarm)

    def _on_alarm(self, event: Any) -> None:
        domain, when = event.value
        if when != domain.alarm:
            return
        domain.alarm = inf
        ended = [running for running in domain.running if running.end <= when]
        domain.running = [running for running in domain.running if running.end > when]
        for running in ended:
            running.over = True
            domain.counts[running.kind] -= 1
        self._settle_soon(domain)
        for running in ended:
            running.routine.wake()
