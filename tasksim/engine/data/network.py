"""Network of links that copies share, weighted max-min fair, as in SimGrid.

A copy waits for the latency of its route; then it is a *flow*. The rate of a flow is its fair share
of the most contended link. With the settings in StarPU's platform files (no TCP window, no cross
traffic), SimGrid's shares are proportional to 1 / latency of the flow's route, and a link that a
route crosses twice counts twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, inf
from typing import TYPE_CHECKING, Any

from tasksim.engine.ticks import END_ROUNDING_TICKS, TICK_S, ticks

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tasksim.engine.clock import Clock
    from tasksim.platform.description import Platform

__all__ = ["Network", "Path", "fair_rates", "paths_of"]

MIN_LATENCY_S = TICK_S
"""Latency in seconds that replaces zero in the weights of shares, the clock's shortest time: such a
flow gets almost all capacity that others leave."""


class Path:
    """The links of a route, each with the number of times that it is crossed.

    *limit* is the rate of a flow that is alone on the route.
    """

    __slots__ = ("latency", "limit", "links", "number", "weight")

    def __init__(
        self, number: int, links: Sequence[int], latency_s: float, limit: float = inf
    ) -> None:
        self.number = number
        self.limit = limit
        self.links = tuple((link, links.count(link)) for link in dict.fromkeys(links))
        self.latency = ticks(latency_s)
        self.weight = 1.0 / max(latency_s, MIN_LATENCY_S)


def paths_of(platform: Platform) -> dict[tuple[int, int], Path]:
    """Return the routes between the memories, by their ends."""
    paths: dict[tuple[int, int], Path] = {}
    for source in platform.memories:
        for target in platform.memories:
            links = platform.route(source.id, target.id) if source.id != target.id else None
            if links is not None:
                paths[source.id, target.id] = _path(platform, len(paths), links)
    return paths


def _path(platform: Platform, number: int, links: Sequence[int]) -> Path:
    route = [platform.links[link] for link in links]
    alone = [link.bandwidth_bytes_per_s * TICK_S for link in route if not link.shared]
    shared = [link.id for link in route if link.shared]
    return Path(number, shared, sum(link.latency_s for link in route), min(alone, default=inf))


MAX_KNOWN_COMBINATIONS = 20_000
"""Maximum number of flow combinations with cached rates: 5 MB (measured: 250 bytes each). Runs with
three devices have 400 to 900, so only machines with many more drop any."""


@dataclass(slots=True, eq=False)
class Flow:
    """A copy under way, with its remaining bytes and its rate in bytes per tick."""

    path: Path
    remaining: float
    done: Callable[[Any], None]
    value: Any
    rate: float = 0.0


class Network:
    """The links of *platform*, and the flows on them.

    Only the first end of a flow is an event. It is set again whenever flows start or end; the
    earlier event, known by its number, is then ignored.
    """

    def __init__(self, clock: Clock, platform: Platform) -> None:
        self._clock = clock
        self._capacity = [link.bandwidth_bytes_per_s * TICK_S for link in platform.links]
        self._paths = paths_of(platform)
        self._flows: list[Flow] = []
        self._since = 0
        self._settled = 0
        self._known: dict[tuple[int, ...], list[float]] = {}

    def shares(self, source: int, target: int) -> bool:
        """Return whether copies from *source* to *target* slow each other down."""
        return bool(self._paths[source, target].links)

    def send(
        self, source: int, target: int, size: float, done: Callable[[Any], None], value: Any
    ) -> None:
        """Copy *size* bytes from memory *source* to *target*, then call ``done(value)``."""
        path = self._paths[source, target]
        flow = Flow(path, size, done, value)
        if path.latency:
            self._clock.alarm(path.latency, lambda event: self._enter(event.value), flow)
        else:
            self._enter(flow)

    def _enter(self, flow: Flow) -> None:
        self._advance()
        self._flows.append(flow)
        self._settle()

    def _on_end(self, event: Any) -> None:
        if event.value != self._settled:
            return
        self._advance()
        # A flow with less than a tick left ends now: SimGrid merges such events, too.
        ended = [flow for flow in self._flows if flow.remaining <= flow.rate]
        self._flows = [flow for flow in self._flows if flow.remaining > flow.rate]
        self._settle()
        for flow in ended:
            flow.done(flow.value)

    def _advance(self) -> None:
        now = self._clock.now
        elapsed = now - self._since
        if elapsed:
            self._since = now
            for flow in self._flows:
                flow.remaining -= flow.rate * elapsed

    def _settle(self) -> None:
        """Share the links among the flows, and find which of them ends first."""
        self._settled += 1
        flows = self._flows
        if not flows:
            return
        combination = tuple([flow.path.number for flow in flows])
        rates = self._known.get(combination)
        if rates is None:
            rates = fair_rates([flow.path for flow in flows], self._capacity)
            if len(self._known) < MAX_KNOWN_COMBINATIONS:
                self._known[combination] = rates
        first = inf
        for flow, rate in zip(flows, rates, strict=True):
            flow.rate = rate
            left = flow.remaining / rate
            if left < first:
                first = left
        self._clock.alarm(max(0, ceil(first - END_ROUNDING_TICKS)), self._on_end, self._settled)


def fair_rates(paths: Sequence[Path], capacity: Sequence[float]) -> list[float]:
    """Return the weighted max-min fair rates of flows on *paths*.

    The level rises for all flows at once, and each gets ``level * weight``. A flow stops when one
    of its links is full (progressive filling; D. Bertsekas, R. Gallager, "Data Networks", 2nd
    edition, section 6.5.2).

    Parameters
    ----------
    paths : sequence of Path
        One path per flow.
    capacity : sequence of float
        Capacity of each link, in the unit of the rates.
    """
    rates = [0.0] * len(paths)
    left: dict[int, float] = {}
    rising = list(range(len(paths)))
    for path in paths:
        for link, _ in path.links:
            left[link] = capacity[link]
    while rising:
        load = dict.fromkeys(left, 0.0)
        for flow in rising:
            for link, times in paths[flow].links:
                load[link] += times * paths[flow].weight
        level = min(
            min((left[link] / weight for link, weight in load.items() if weight), default=inf),
            min(paths[flow].limit / paths[flow].weight for flow in rising),
        )
        # Links that are full at the same level stop together, in spite of rounding.
        reached = level * (1 + 1e-9)
        full = {k for k, weight in load.items() if weight and left[k] / weight <= reached}
        for flow in rising:
            rates[flow] = max(level * paths[flow].weight, 1e-18)  # never zero: a flow must end
        stopped = [
            flow
            for flow in rising
            if paths[flow].limit <= reached * paths[flow].weight
            or any(link in full for link, _ in paths[flow].links)
        ]
        for flow in stopped:
            for link, times in paths[flow].links:
                left[link] = max(0.0, left[link] - times * rates[flow])
        rising = [flow for flow in rising if flow not in stopped]
    return rates
