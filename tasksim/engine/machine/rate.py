"""Rate of tasks that slow each other down, with their remaining work.

The work of a task is its duration alone, in ticks. Its rate is one over the stretch from
:class:`~tasksim.engine.slowing.Slowing`, and changes whenever a task of its memory domain starts or
ends. All changes within an instant are settled once, at its end, as for messages that share a
network (:mod:`tasksim.engine.cluster.flows`).

With non-uniform memory, the tasks of all domains slow each other down, depending on the homes of
their data; they are settled together (:mod:`tasksim.engine.machine.traffic`).
"""

from __future__ import annotations

from math import ceil, inf
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from tasksim.engine.clock import LAST_PHASE
from tasksim.engine.ticks import END_ROUNDING_TICKS, TICKS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tasksim.engine.clock import Clock, Routine, Steps
    from tasksim.engine.machine.traffic import Traffic
    from tasksim.engine.numa import Homes
    from tasksim.engine.slowing import Slowing
    from tasksim.run.numa import NumaUse

__all__ = ["Rate"]


class _Running:
    """A running task, with its remaining work in ticks at *since*, and its stretch from then on."""

    __slots__ = (
        "begun", "domain", "kind", "local", "remaining", "routine", "shares", "since", "stretch",
        "worker",
    )  # fmt: skip

    def __init__(
        self, kind: int, worker: int, work: int, routine: Routine, now: int, begun: int
    ) -> None:
        self.kind, self.worker, self.routine = kind, worker, routine
        self.remaining, self.since, self.stretch = float(work), now, 0.0
        self.begun = begun
        """A number that increases from task to task."""
        self.domain, self.local = 0, 0.0
        """Its memory domain, and the stretch that it would have with all its data at home there;
        only for non-uniform memory."""
        self.shares: list[float] = []


class _Domain:
    """The running tasks of a memory domain, with their number by kind and the task of each worker.

    Each worker has a fixed place; its entry in *ends* is infinite while it is idle, and until the
    end is known.
    """

    __slots__ = ("alarm", "counts", "ends", "fresh", "number", "running", "stretches")

    def __init__(self, number: int, kinds: int) -> None:
        self.number = number
        self.counts = [0] * kinds
        self.running: list[_Running | None] = []
        self.ends: list[float] = []
        self.fresh: list[int] = []
        """The places of the tasks that have begun and have no known end yet."""
        self.stretches: tuple[float, ...] = ()
        """The stretches from which the ends of the other tasks were computed."""
        self.alarm: float = inf

    def place(self) -> int:
        """Add a worker, and return its place."""
        self.running.append(None)
        self.ends.append(inf)
        return len(self.ends) - 1


class Rate:
    """The running tasks of the workers of memory domains.

    Parameters
    ----------
    clock : Clock
        The clock.
    slowing : Slowing
        Slowdown of tasks by each other.
    kernel : sequence of int
        Kernel of each task.
    class_of : sequence of int
        Class of each worker.
    homes : Homes, optional
        Homes of the data, for non-uniform memory.
    """

    def __init__(
        self,
        clock: Clock,
        slowing: Slowing,
        kernel: Sequence[int],
        class_of: Sequence[int],
        homes: Homes | None = None,
    ) -> None:
        self._clock, self._slowing, self._kernel = clock, slowing, kernel
        self._homes = homes
        self._traffic: Traffic | None = None
        self._extra_ticks = [0.0] * len(slowing.curves)
        kinds = len(slowing.kinds)
        domains = [_Domain(number, kinds) for number in range(len(slowing.curves))]
        if slowing.distances is not None:
            from tasksim.engine.machine.traffic import Traffic

            self._traffic = Traffic(slowing, slowing.distances)
            domains = domains[:1] * len(domains)  # all tasks are settled together
        self._domain = [domains[of] if of >= 0 else None for of in slowing.domain_of]
        self._place = [-1 if domain is None else domain.place() for domain in self._domain]
        self._first = [slowing.kinds.first[group] for group in class_of]
        self._begun = 0
        self._changed: dict[_Domain, None] = {}
        self._over = [True] * len(class_of)

    def begin(self, task: int, worker: int, work: int, routine: Routine) -> bool:
        """Begin *task* on *worker*, with its *routine*; *work* is its duration alone in ticks.

        Returns whether the task may be slowed: then :meth:`until_over` waits for its end; otherwise
        it takes *work* ticks.
        """
        domain = self._domain[worker]
        if domain is None:
            return False
        shares: list[float] = []
        if self._homes is not None:  # tasks without duration give data a home, too
            shares = self._homes.touch(task, self._slowing.domain_of[worker])
        if not work:
            return False
        kind = self._first[worker] + self._kernel[task]
        place = self._place[worker]
        self._begun += 1
        running = _Running(kind, worker, work, routine, self._clock.now, self._begun)
        domain.running[place] = running
        running.domain, running.shares = self._slowing.domain_of[worker], shares
        domain.fresh.append(place)
        domain.counts[kind] += 1
        self._over[worker] = False
        self._settle_soon(domain)
        return True

    def until_over(self, worker: int, routine: Routine) -> Steps:
        """Sleep until the task of *worker*, with its *routine*, has ended."""
        over = self._over
        while not over[worker]:
            yield routine.sleep()

    def _settle_soon(self, domain: _Domain) -> None:
        """Settle *domain* at the end of this instant."""
        if not self._changed:
            self._clock.alarm(0, self._settle, phase=LAST_PHASE)
        self._changed[domain] = None

    def _settle(self, _event: Any) -> None:
        changed, self._changed = self._changed, {}
        for domain in changed:
            self._retime(domain)
            self._set_alarm(domain)

    def use(self) -> NumaUse | None:
        """Return the accesses between domains; None if memory is uniform."""
        homes, distances = self._homes, self._slowing.distances
        if homes is None or distances is None:
            return None
        from tasksim.run.numa import NumaUse

        accessed = tuple(tuple(row) for row in homes.accessed_bytes)
        extra_s = tuple(ticks / TICKS_PER_S for ticks in self._extra_ticks)
        return NumaUse(distances.names, accessed, extra_s)

    def _retime(self, domain: _Domain) -> None:
        """Update the remaining work of each task, and its end at the new rate.

        Mostly one task has ended and another of its kind begins, so the rates of the others stay.
        """
        if self._traffic is not None:
            self._retime_all(domain, self._traffic)
            return
        stretches = self._slowing.stretches(domain.number, domain.counts)
        if stretches is not domain.stretches:
            domain.stretches = stretches
            places: Iterable[int] = range(len(domain.ends))
        else:
            places = domain.fresh
        now, running_at, ends = self._clock.now, domain.running, domain.ends
        for place in places:
            running = running_at[place]
            if running is None:
                continue
            stretch = stretches[running.kind]
            if stretch == running.stretch:
                continue
            if running.stretch:
                running.remaining -= (now - running.since) / running.stretch
            running.since, running.stretch = now, stretch
            left = ceil(running.remaining * stretch - END_ROUNDING_TICKS)
            ends[place] = now + left if left > 0 else now
        domain.fresh.clear()

    def _retime_all(self, domain: _Domain, traffic: Traffic) -> None:
        """Do the same for tasks of all domains that slow each other down."""
        now, running_at = self._clock.now, domain.running
        for place, stretch, local in traffic.stretches(running_at):
            running = running_at[place]
            assert running is not None
            if stretch == running.stretch and local == running.local:
                continue
            if running.stretch:
                running.remaining -= (now - running.since) / running.stretch
                self._account(running, now)
            running.since, running.stretch, running.local = now, stretch, local
            left = ceil(running.remaining * stretch - END_ROUNDING_TICKS)
            domain.ends[place] = now + left if left > 0 else now
        domain.fresh.clear()

    def _account(self, running: _Running, now: int) -> None:
        """Add the time that the homes of its data have cost a task since its last update."""
        elapsed, more = now - running.since, running.stretch - running.local
        self._extra_ticks[running.domain] += elapsed * more / running.stretch

    def _set_alarm(self, domain: _Domain) -> None:
        """Wait for the task that ends first."""
        first = min(domain.ends)
        if first == domain.alarm or first == inf:
            return
        domain.alarm = first
        self._clock.keep_order()
        delay = int(first) - self._clock.now
        self._clock.alarm(delay, self._on_alarm, (domain, first))

    def _on_alarm(self, event: Any) -> None:
        domain, when = event.value
        if when != domain.alarm:
            return
        domain.alarm = inf
        self._settle_soon(domain)
        for running in self._ended(domain, when):
            running.routine.wake()

    def _ended(self, domain: _Domain, when: float) -> list[_Running]:
        """Remove the tasks that end at *when*; return them in the order of their begin."""
        ended, ends, counts = [], domain.ends, domain.counts
        for place in [place for place, end in enumerate(ends) if end <= when]:
            running = domain.running[place]
            assert running is not None
            if self._traffic is not None:
                self._account(running, int(when))
            domain.running[place] = None
            ends[place] = inf
            counts[running.kind] -= 1
            self._over[running.worker] = True
            ended.append(running)
        if len(ended) > 1:
            ended.sort(key=attrgetter("begun"))
        return ended
