"""Flows of messages over the shared links of a network, weighted max-min fair.

A message waits for the latency of its route; then it is a *flow*. The share of a flow is limited by
its most contended link, in proportion to its weight, and by its own limit; its rate is that share
times the model's factor for its size.

A *note* is so small that it does not affect other flows: it takes as long as alone, and takes
nothing of their shares.

All changes within an instant are settled once, at its end, and only for flows whose shares can
change, so that a message among a thousand nodes costs as much as one among a few.
"""

from __future__ import annotations

from heapq import heappop, heappush
from math import ceil, inf
from typing import TYPE_CHECKING, Any

from tasksim.engine.clock import LAST_PHASE
from tasksim.engine.cluster.shares import Flow, settle
from tasksim.engine.cluster.ways import Ways
from tasksim.engine.ticks import END_ROUNDING_TICKS, TICKS_PER_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from tasksim.engine.clock import Clock
    from tasksim.network.description import Network

__all__ = ["Flows"]


FULL_LINK_SLACK = 1 + 1e-12
"""Demand on a link, relative to its capacity, up to which it limits no flow: sums are rounded."""


class Flows:
    """The messages on a *network* with a known number of hosts.

    Parameters
    ----------
    clock : Clock
        The clock.
    network : Network
        Links, routes, and costs of messages.
    ticks_per_s : float, default 1e9
        Ticks of the clock per second.
    """

    def __init__(self, clock: Clock, network: Network, ticks_per_s: float = TICKS_PER_S) -> None:
        self._clock = clock
        self._ways = Ways(network, ticks_per_s)
        self._capacity = self._ways.capacity
        self._on: dict[int, dict[int, tuple[Flow, float]]] = {}
        """Flows on each link that has any, by number, with the cost of a byte on the link."""
        self._demand: dict[int, float] = {}
        """Share of a link that its flows would take if no other link limited them."""
        self._count = 0
        self._changed: dict[int, float] = {}
        """Links on which flows began or ended in this instant, with the demand before it."""
        self._flows: dict[int, Flow] = {}
        self._begun: list[int] = []
        self._settling = False
        self._ends: list[tuple[int, int]] = []
        """Heap of end ticks and flows; outdated entries are skipped."""
        self._alarm: float = inf

    def send(
        self, source: int, target: int, size_bytes: float, done: Callable[[Any], None], value: Any
    ) -> None:
        """Send *size_bytes* from node *source* to *target*, then call ``done(value)``."""
        way = self._ways.between(source, target)
        latency, factor, size = self._ways.transfer(way, size_bytes)
        flow = Flow(way, factor, size, done, value)
        if latency:
            self._clock.alarm(latency, lambda event: self._enter(event.value), flow)
        else:
            self._enter(flow)

    def send_note(
        self, source: int, target: int, size_bytes: float, done: Callable[[Any], None], value: Any
    ) -> None:
        """Send few bytes, *size_bytes*, as if alone on the network, then call ``done(value)``."""
        way = self._ways.between(source, target)
        delay = self._ways.alone(way, size_bytes)
        self._clock.alarm(delay, lambda event: done(event.value), value)

    # Begin and end of flows

    def _enter(self, flow: Flow) -> None:
        self._count += 1
        flow.number = self._count
        flow.since = self._clock.now
        self._flows[flow.number] = flow
        for link, use in flow.way.uses:
            before = self._demand.get(link, 0.0)
            self._changed.setdefault(link, before)
            self._on.setdefault(link, {})[flow.number] = (flow, use)
            self._demand[link] = before + use * flow.way.limit
        self._begun.append(flow.number)
        self._settle_soon()

    def _leave(self, flow: Flow) -> None:
        del self._flows[flow.number]
        for link, use in flow.way.uses:
            on, before = self._on[link], self._demand[link]
            self._changed.setdefault(link, before)
            del on[flow.number]
            if on:
                self._demand[link] = before - use * flow.way.limit
            else:
                del self._on[link], self._demand[link]

    def _on_alarm(self, event: Any) -> None:
        if event.value != self._alarm:
            return
        self._alarm = inf
        ends, now = self._ends, self._clock.now
        numbers = set()
        while ends and ends[0][0] <= now:
            end, number = heappop(ends)
            if number in self._flows and self._end(self._flows[number]) == end:
                numbers.add(number)
        ended = [self._flows[number] for number in sorted(numbers)]  # in the order of their begin
        for flow in ended:
            self._leave(flow)
        self._settle_soon()
        for flow in ended:
            flow.done(flow.value)

    # Settling

    def _settle_soon(self) -> None:
        """Settle at the end of this instant."""
        if not self._settling:
            self._settling = True
            self._clock.alarm(0, self._settle, phase=LAST_PHASE)

    def _settle(self, _event: Any) -> None:
        self._settling = False
        region = self._touched()
        settle(region, self._on, self._capacity, self._can_be_full)
        now = self._clock.now
        for number in sorted(region):
            flow = region[number]
            if flow.settled != flow.share:
                flow.remaining -= flow.share * flow.factor * (now - flow.since)
                flow.since, flow.share = now, flow.settled
                heappush(self._ends, (self._end(flow), number))
        self._set_alarm()

    def _touched(self) -> dict[int, Flow]:
        """Return the flows that have begun, and those beside which flows have begun or ended."""
        region = {number: self._flows[number] for number in self._begun}
        for link, before in self._changed.items():
            # A link that limits no flow, and limited none before, changes no share.
            full_before = before > self._capacity[link] * FULL_LINK_SLACK
            if link in self._on and (full_before or self._can_be_full(link)):
                for number, (flow, _) in self._on[link].items():
                    region[number] = flow
        self._begun, self._changed = [], {}
        return region

    def _can_be_full(self, link: int) -> bool:
        return self._demand[link] > self._capacity[link] * FULL_LINK_SLACK

    def _end(self, flow: Flow) -> int:
        """Return the tick at which *flow* ends at its present rate."""
        left = flow.remaining / (flow.share * flow.factor)
        return flow.since + max(0, ceil(left - END_ROUNDING_TICKS))

    def _set_alarm(self) -> None:
        """Wait for the flow that ends first; drop outdated entries."""
        ends = self._ends
        while ends:
            end, number = ends[0]
            if number in self._flows and self._end(self._flows[number]) == end:
                break
            heappop(ends)
        if ends and ends[0][0] != self._alarm:
            self._alarm = ends[0][0]
            self._clock.alarm(ends[0][0] - self._clock.now, self._on_alarm, self._alarm)
