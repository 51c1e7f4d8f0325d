"""Ways between hosts of a network, with the properties that all messages between two share."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Final

import numpy as np

from tasksim.base.sums import total

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.network.description import Network

__all__ = ["END_ROUNDING_TICKS", "Way", "Ways"]

END_ROUNDING_TICKS: Final = 1e-6
"""Rounding error of ends, in ticks: without it, a message that ends on a tick would end later."""

MAX_KNOWN_ROUTES: Final = 100_000
"""Maximum number of cached routes: 40 MB. Nodes exchange messages with few others, so only
all-to-all programs on more than three hundred nodes drop any."""


class Way:
    """The way from one host to another, which all messages between them share.

    *limit* is the maximum rate of one message, in bytes per tick; *uses* are the shared links, each
    with the cost of a byte on it.
    """

    __slots__ = ("latency_s", "limit", "uses", "weight")

    def __init__(
        self, latency_s: float, limit: float, weight: float, uses: tuple[tuple[int, float], ...]
    ) -> None:
        self.latency_s, self.limit, self.weight, self.uses = latency_s, limit, weight, uses


class Ways:
    """The ways of a *network* with a known number of hosts.

    Attributes
    ----------
    capacity : list of float
        Capacity of each link, in bytes per tick.
    """

    def __init__(self, network: Network, ticks_per_s: float = 1e9) -> None:
        self._model, self._topology = network.model, network.topology
        self._ticks_per_s = ticks_per_s
        links = network.links
        self._bandwidth: list[float] = links.bandwidth_bytes_per_s.tolist()
        self._latency: list[float] = links.latency_s.tolist()
        self._shared: list[bool] = links.shared.tolist()
        self.capacity: list[float] = [bandwidth / ticks_per_s for bandwidth in self._bandwidth]
        self._ways: dict[tuple[int, int], Way] = {}

    def between(self, source: int, target: int) -> Way:
        """Return the way from host *source* to *target*."""
        way = self._ways.get((source, target))
        if way is None:
            way = self._make(source, target)
            if len(self._ways) < MAX_KNOWN_ROUTES:
                self._ways[source, target] = way
        return way

    def transfer(self, way: Way, size_bytes: float) -> tuple[int, float, float]:
        """Return the cost of a message of *size_bytes* on *way*.

        The cost has three parts: the ticks of its latency, the factor of its share of the links,
        and the bytes on the network, with those that the network adds.
        """
        size = size_bytes + self._model.envelope_bytes
        latency_factor, factor = self._model.factors(size)
        return round(latency_factor * way.latency_s * self._ticks_per_s), factor, size

    def transfers(
        self, latency_s: NDArray[np.float64], size_bytes: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
        """Return the costs of many messages, as :meth:`transfer`, on ways with these latencies."""
        sizes, which = np.unique(size_bytes, return_inverse=True)
        sent = [size + self._model.envelope_bytes for size in sizes.tolist()]
        factors = np.array([self._model.factors(size) for size in sent], float).reshape(-1, 2)
        latency = np.rint(factors[which, 0] * latency_s * self._ticks_per_s).astype(np.int64)
        return latency, factors[which, 1], np.array(sent, float)[which]

    def alone(self, way: Way, size_bytes: float) -> int:
        """Return the ticks that a message of *size_bytes* takes on *way*, alone on all links."""
        latency, factor, size = self.transfer(way, size_bytes)
        return latency + max(0, ceil(size / (way.limit * factor) - END_ROUNDING_TICKS))

    def _make(self, source: int, target: int) -> Way:
        links = self._topology.route(source, target)
        latency_s = total(self._latency[link] for link in links)
        bandwidths = [self._bandwidth[link] for link in links]
        limit = min(min(bandwidths), self._model.window_rate(latency_s)) / self._ticks_per_s
        weight = 1.0 / self._model.penalty(latency_s, bandwidths)
        uses = self._uses(source, target, links) if self._model.shared else {}
        for link, use in uses.items():
            limit = min(limit, self.capacity[link] / use)
        return Way(latency_s, limit, weight, tuple(uses.items()))

    def _uses(self, source: int, target: int, links: tuple[int, ...]) -> dict[int, float]:
        """Return the cost of a byte on each shared link, of the way there and of the way back."""
        uses: dict[int, float] = {}
        for link in links:
            uses[link] = uses.get(link, 0.0) + 1.0
        if self._model.cross_traffic:
            for link in self._topology.route(target, source):
                uses[link] = uses.get(link, 0.0) + self._model.cross_traffic
        return {link: use for link, use in uses.items() if self._shared[link]}
