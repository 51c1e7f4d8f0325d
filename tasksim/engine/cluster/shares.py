"""Weighted max-min fair shares of links, each with a limit of its own.

A level rises for all flows at once, and each gets ``level * weight``. A flow stops at its limit, or
when one of its links is full (progressive filling; D. Bertsekas, R. Gallager, "Data Networks", 2nd
edition, section 6.5.2).

When a flow begins or ends, only few flows get new shares: those in a *region* around the change.
Shares are max-min fair if and only if no link is over-full and each flow is at its limit or has a
*bottleneck*: a full link on which no flow has a higher level (share / weight). This can be checked
flow by flow. So the flows next to a change get new shares, and the others keep theirs. A flow joins
the region if it would lose its bottleneck, or has more than a flow that it limits; this repeats
until no flow joins. Except for rounding, the result equals that of sharing all links again.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import inf
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tasksim.engine.cluster.ways import Way

__all__ = ["AT_LIMIT", "Claim", "Filling", "Flow", "On", "settle"]

MIN_SHARE = 1e-18
"""Minimum share, in bytes per tick: never zero, because a flow must end."""
AT_LIMIT: Final = -1
"""The stop of a flow that no link limits."""


class Claim(Protocol):
    """The claim of a flow, with its weight, its limit, and the cost of a byte on each link."""

    weight: float
    limit: float
    uses: tuple[tuple[int, float], ...]


class Filling:
    """Links that fill as the level rises.

    Parameters
    ----------
    claims : sequence of Claim
        One claim per flow.
    left : mapping of int to float
        Capacity left for these flows on the links that can be full, in the unit of the shares,
        ascending by link. Other links limit no flow.
    """

    def __init__(self, claims: Sequence[Claim], left: Mapping[int, float]) -> None:
        self.claims = claims
        self.shares = [0.0] * len(claims)
        """The share of each flow, after :meth:`fill`."""
        self.stops = [AT_LIMIT] * len(claims)
        """The link that limits each flow."""
        self.left = dict(left)
        self.on: dict[int, list[int]] = {link: [] for link in left}
        self._load = dict.fromkeys(left, 0.0)
        for number, claim in enumerate(claims):
            for link, use in claim.uses:
                if link in self._load:
                    self._load[link] += use * claim.weight
                    self.on[link].append(number)
        self._rising = {link: len(numbers) for link, numbers in self.on.items()}

    def fill(self) -> None:
        """Raise the level until every flow has stopped."""
        limits = [(claim.limit / claim.weight, n) for n, claim in enumerate(self.claims)]
        limits.sort(reverse=True)
        levels = [(self._level(link), link) for link in self.left]
        heapify(levels)
        while limits:
            level, number = limits[-1]
            if self.shares[number]:
                limits.pop()
            elif levels and levels[0][0] < level:
                self._fill_first(levels)
            else:
                limits.pop()
                self._stop(number, self.claims[number].limit, AT_LIMIT)

    def _level(self, link: int) -> float:
        """Return the level at which *link* is full."""
        return max(0.0, self.left[link]) / self._load[link] if self._rising[link] else inf

    def _fill_first(self, levels: list[tuple[float, int]]) -> None:
        """Stop the flows on the first link that is full; stops of others delay that of a link."""
        told, link = heappop(levels)
        level = self._level(link)
        if level > told:
            if level < inf:
                heappush(levels, (level, link))
            return
        for number in self.on[link]:
            if not self.shares[number]:
                self._stop(number, level * self.claims[number].weight, link)

    def _stop(self, number: int, share: float, where: int) -> None:
        claim = self.claims[number]
        self.shares[number] = max(share, MIN_SHARE)
        self.stops[number] = where
        for link, use in claim.uses:
            if link in self.left:
                self.left[link] -= use * share
                self._load[link] -= use * claim.weight
                self._rising[link] -= 1


@dataclass(slots=True, eq=False)
class Flow:
    """A message under way, in bytes, with shares in bytes per tick.

    :func:`settle` sets ``settled``, its new share, and ``stop``, the link that limits it.
    """

    way: Way
    factor: float
    remaining: float
    done: Callable[[Any], None]
    value: Any
    number: int = 0
    share: float = 0.0
    settled: float = 0.0
    stop: int = AT_LIMIT
    since: int = 0


On: TypeAlias = "Mapping[int, Mapping[int, tuple[Flow, float]]]"
"""Per link number, its flows, each with the cost of a byte on the link."""

LEVEL_TOLERANCE = 1e-11
"""Relative difference of levels that count as equal: the rounding of sums of 10,000 flows."""


def settle(
    region: dict[int, Flow], on: On, capacity: Sequence[float], can_be_full: Callable[[int], bool]
) -> None:
    """Share the links again among the flows of a *region*, which grows as far as necessary.

    Their ``share`` stays as it was; ``settled`` and ``stop`` get the new share and the link that
    limits it.

    Parameters
    ----------
    region : dict of int to Flow
        The flows next to a change, by number; flows that join are added.
    on : mapping
        The flows on each link.
    capacity : sequence of float
        Capacity of each link.
    can_be_full : callable
        Returns whether a link can be full at all.
    """
    while True:
        flows = [region[number] for number in sorted(region)]
        links = {link for flow in flows for link, _ in flow.way.uses if can_be_full(link)}
        left = {link: _left(link, region, on, capacity[link]) for link in sorted(links)}
        filling = Filling([flow.way for flow in flows], left)
        filling.fill()
        for flow, share, stop in zip(flows, filling.shares, filling.stops, strict=True):
            flow.settled, flow.stop = share, stop
        size = len(region)
        for link in left:
            members = [flows[number] for number in filling.on[link]]
            slack = filling.left[link] > capacity[link] * LEVEL_TOLERANCE
            _join(link, members, slack, region, on)
        if len(region) == size:
            return


def _left(link: int, region: Mapping[int, Flow], on: On, capacity: float) -> float:
    """Return the capacity of *link* that the flows outside *region* do not use."""
    for number, (flow, use) in on[link].items():
        if number not in region:
            capacity -= use * flow.share
    return max(0.0, capacity)


def _join(link: int, members: Sequence[Flow], slack: bool, region: dict[int, Flow], on: On) -> None:
    """Add to *region* the flows on *link* that cannot keep their shares beside its *members*."""
    lowest, highest = inf, 0.0
    for flow in members:
        level = flow.settled / flow.way.weight
        highest = max(highest, level)
        if flow.stop == link:
            lowest = min(lowest, level)
    lowest *= 1 + LEVEL_TOLERANCE
    highest *= 1 - LEVEL_TOLERANCE
    for number, (flow, _) in on[link].items():
        if number not in region:
            level = flow.share / flow.way.weight
            if level > lowest or (flow.stop == link and (slack or level < highest)):
                flow.settled = flow.share
                region[number] = flow
