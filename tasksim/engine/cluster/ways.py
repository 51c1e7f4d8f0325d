"""Ways between hosts of a network, with the properties that all messages between two share.

:class:`Ways` makes one way at a time, for SimPy's engine; :func:`way_table` makes the ways of many
pairs of hosts at once, equal to the last bit, for the core.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tasksim.base.sums import total
from tasksim.engine.ticks import END_ROUNDING_TICKS, TICKS_PER_S
from tasksim.graph.csr import owner_of_each, pointers_of_counts
from tasksim.network.description import routes
from tasksim.network.model import SHORTEST_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.network.description import Network

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["Way", "WayTable", "Ways", "way_table"]

MAX_KNOWN_ROUTES: Final = 100_000
"""Maximum number of cached routes: 40 MB. Nodes exchange messages with few others, so only
all-to-all programs on more than three hundred nodes drop any."""


@dataclass(slots=True, eq=False)
class Way:
    """The way from one host to another, which all messages between them share.

    *limit* is the maximum rate of one message, in bytes per tick; *uses* are the shared links, each
    with the cost of a byte on it.
    """

    latency_s: float
    limit: float
    weight: float
    uses: tuple[tuple[int, float], ...]


class Ways:
    """The ways of a *network* with a known number of hosts.

    Attributes
    ----------
    capacity : list of float
        Capacity of each link, in bytes per tick.
    """

    def __init__(self, network: Network, ticks_per_s: float = TICKS_PER_S) -> None:
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


class WayTable(NamedTuple):
    """The fields of :class:`Way`, in columns, for many pairs of hosts.

    The uses of way *k* are the rows ``pointers[k]`` to ``pointers[k + 1]`` of *link* and *of_byte*.
    """

    latency_s: Floats
    limit: Floats
    weight: Floats
    pointers: Ints
    link: Ints
    of_byte: Floats

    def __len__(self) -> int:
        """Return the number of ways."""
        return len(self.latency_s)


def way_table(network: Network, source: Ints, target: Ints) -> WayTable:
    """Return the ways from each *source* to its *target*, which is another host.

    It adds in the same order as :class:`Ways`, so that sums are the same to the last bit.
    """
    model, links = network.model, network.links
    pointers, route = routes(network.topology, source, target)
    bandwidth = links.bandwidth_bytes_per_s[route]
    latency_s = _sums(pointers, links.latency_s[route])
    lowest = _lowest(pointers, bandwidth)
    window_rates = np.full(len(latency_s), np.inf)  # of ``Model.window_rate``
    np.divide(model.window_bytes, 2.0 * latency_s, out=window_rates, where=latency_s > 0)
    limit = np.minimum(lowest, window_rates) / TICKS_PER_S
    weight = np.ones(len(source))
    if model.by_latency:
        weights = _sums(pointers, model.weight_bytes / bandwidth)
        weight = 1.0 / np.maximum(latency_s + weights, SHORTEST_S)
    if not model.shared:
        none = np.empty(0, np.int64)
        return WayTable(latency_s, limit, weight, np.zeros_like(pointers), none, np.empty(0))
    uses, link, of_byte = _uses(network, source, target, pointers, route)
    capacity = links.bandwidth_bytes_per_s / TICKS_PER_S
    limit = np.minimum(limit, _lowest(uses, capacity[link] / of_byte))
    return WayTable(latency_s, limit, weight, uses, link, of_byte)


def _uses(
    network: Network, source: Ints, target: Ints, pointers: Ints, route: Ints
) -> tuple[Ints, Ints, Floats]:
    """Return the cost of a byte on each shared link, there and back, for one way after the other.

    The links of a way are in the order of their first occurrence.
    """
    way = owner_of_each(pointers)
    taken = np.ones(len(route))
    if network.model.cross_traffic:
        back_pointers, back = routes(network.topology, target, source)
        way = np.concatenate((way, owner_of_each(back_pointers)))
        taken = np.concatenate((taken, np.full(len(back), network.model.cross_traffic)))
        route = np.concatenate((route, back))
    shared = network.links.shared
    keys = way * len(shared) + route
    found, first, which = np.unique(keys, return_index=True, return_inverse=True)
    of_byte: Floats = np.bincount(which, taken, len(found)).astype(np.float64, copy=False)
    kept = np.flatnonzero(shared[route[first]])
    kept = kept[np.lexsort((first[kept], way[first[kept]]))]
    first, of_byte = first[kept], of_byte[kept]
    return pointers_of_counts(np.bincount(way[first], minlength=len(source))), route[first], of_byte


def _sums(pointers: Ints, values: Floats) -> Floats:
    """Return the sums of lists, each added from its first value on."""
    found = np.zeros(len(pointers) - 1)
    for here, place in _places(pointers):
        found[here] += values[place]
    return found


def _lowest(pointers: Ints, values: Floats) -> Floats:
    """Return the minima of lists; infinity for an empty list."""
    found = np.full(len(pointers) - 1, np.inf)
    for here, place in _places(pointers):
        found[here] = np.minimum(found[here], values[place])
    return found


def _places(pointers: Ints) -> list[tuple[Ints, Ints]]:
    """Return the lists that have a first value, with its position, then a second one, and so on."""
    counts = np.diff(pointers)
    longest = int(counts.max(initial=0))
    lists = (np.flatnonzero(counts > place) for place in range(longest))
    return [(here, pointers[here] + place) for place, here in enumerate(lists)]
