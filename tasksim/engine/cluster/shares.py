"""Shares: weighted max-min fair, each with a limit of its own.

A level rises for all flows at once, each getting ``level * weight``; those that reach their limit
stop there, those on a link that is full stay at what they have (progressive filling; D. Bertsekas,
R. Gallager, "Data Networks", 2nd edition, section 6.5.2).
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from math import inf
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["AT_LIMIT", "Claim", "Filling"]

LEAST = 1e-18
"""Of a share, in bytes per tick: never zero, for a flow must end."""
AT_LIMIT: Final = -1
"""Where a flow stopped that no link held back."""


class Claim(Protocol):
    """What a flow claims: its weight, its limit, and what a byte takes of each link it uses."""

    weight: float
    limit: float
    uses: tuple[tuple[int, float], ...]


class Filling:
    """Links that fill as the level rises.

    Parameters
    ----------
    claims : sequence of Claim
        One per flow.
    left : mapping of int to float
        What the links that can be full have left for these flows, in the unit that the shares
        come in; ascending by link. Links that are not there hold nobody back.
    """

    def __init__(self, claims: Sequence[Claim], left: Mapping[int, float]) -> None:
        self.claims = claims
        self.shares = [0.0] * len(claims)
        """What each flow gets, after :meth:`fill`."""
        self.stops = [AT_LIMIT] * len(claims)
        """Which link holds each flow back."""
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
        """Stop the flows on the link that is full first; as others stop, that comes later."""
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
        self.shares[number] = max(share, LEAST)
        self.stops[number] = where
        for link, use in claim.uses:
            if link in self.left:
                self.left[link] -= use * share
                self._load[link] -= use * claim.weight
                self._rising[link] -= 1
