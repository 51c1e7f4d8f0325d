"""Shares: weighted max-min fair, each with a limit of its own.

A level rises for all flows at once, each getting ``level * weight``; those that reach their limit
stop there, those on a link that is full stay at what they have (progressive filling; D. Bertsekas,
R. Gallager, "Data Networks", 2nd edition, section 6.5.2).
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from math import inf
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

__all__ = ["Claim", "fair_shares"]

LEAST = 1e-18
"""Of a share, in bytes per tick: never zero, for a flow must end."""


class Claim(Protocol):
    """What a flow claims: its weight, its limit, and what a byte takes of each link it uses."""

    weight: float
    limit: float
    uses: tuple[tuple[int, float], ...]


def fair_shares(
    claims: Sequence[Claim], links: Collection[int], capacity: Sequence[float]
) -> list[float]:
    """Return the share of each of *claims*.

    Parameters
    ----------
    claims : sequence of Claim
        One per flow.
    links : collection of int
        The links that can be full; the others hold nobody back.
    capacity : sequence of float
        Per link, in the unit that the shares come in.
    """
    if not links:
        return [claim.limit for claim in claims]
    return _Filling(claims, links, capacity).fill()


class _Filling:
    """Links that fill as the level rises."""

    def __init__(
        self, claims: Sequence[Claim], links: Collection[int], capacity: Sequence[float]
    ) -> None:
        self.claims = claims
        self.shares = [0.0] * len(claims)
        self.left = {link: capacity[link] for link in sorted(links)}
        self.load = dict.fromkeys(self.left, 0.0)
        self.on: dict[int, list[int]] = {link: [] for link in self.left}
        for number, claim in enumerate(claims):
            for link, use in claim.uses:
                if link in self.load:
                    self.load[link] += use * claim.weight
                    self.on[link].append(number)
        self.rising = dict.fromkeys(self.left, 0)
        for link, numbers in self.on.items():
            self.rising[link] = len(numbers)

    def fill(self) -> list[float]:
        """Raise the level until every flow has stopped."""
        claims = self.claims
        limits = [(claim.limit / claim.weight, n) for n, claim in enumerate(claims)]
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
                self._stop(number, claims[number].limit)
        return self.shares

    def _level(self, link: int) -> float:
        """Return the level at which *link* is full."""
        return max(0.0, self.left[link]) / self.load[link] if self.rising[link] else inf

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
                self._stop(number, level * self.claims[number].weight)

    def _stop(self, number: int, share: float) -> None:
        claim = self.claims[number]
        self.shares[number] = max(share, LEAST)
        for link, use in claim.uses:
            if link in self.left:
                self.left[link] -= use * share
                self.load[link] -= use * claim.weight
                self.rising[link] -= 1
