"""Table of the ways of many pairs of hosts at once, equal to those of ``ways``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tasksim.graph.csr import pointers_of_counts
from tasksim.network.description import routes
from tasksim.network.model import SHORTEST_S

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.network.description import Network

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

__all__ = ["WayTable", "way_table"]


class WayTable(NamedTuple):
    """The fields of :class:`~tasksim.engine.cluster.ways.Way`, in columns.

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


def way_table(network: Network, source: Ints, target: Ints, ticks_per_s: float = 1e9) -> WayTable:
    """Return the ways from each *source* to its *target*, which is another host.

    It adds in the same order as ``Ways``, so that sums are the same to the last bit.
    """
    model, links = network.model, network.links
    pointers, route = routes(network.topology, source, target)
    bandwidth = links.bandwidth_bytes_per_s[route]
    latency_s = _sums(pointers, links.latency_s[route])
    lowest = _lowest(pointers, bandwidth)
    limit = np.minimum(lowest, _window_rates(model.window_bytes, latency_s)) / ticks_per_s
    weight = np.ones(len(source))
    if model.by_latency:
        weights = _sums(pointers, model.weight_bytes / bandwidth)
        weight = 1.0 / np.maximum(latency_s + weights, SHORTEST_S)
    if not model.shared:
        none = np.empty(0, np.int64)
        return WayTable(latency_s, limit, weight, np.zeros_like(pointers), none, np.empty(0))
    uses, link, of_byte = _uses(network, source, target, pointers, route)
    capacity = links.bandwidth_bytes_per_s / ticks_per_s
    limit = np.minimum(limit, _lowest(uses, capacity[link] / of_byte))
    return WayTable(latency_s, limit, weight, uses, link, of_byte)


def _window_rates(window_bytes: float, latency_s: Floats) -> Floats:
    """Return the rates of ``Model.window_rate`` for many latencies."""
    rates = np.full(len(latency_s), np.inf)
    np.divide(window_bytes, 2.0 * latency_s, out=rates, where=latency_s > 0)
    return rates


def _uses(
    network: Network, source: Ints, target: Ints, pointers: Ints, route: Ints
) -> tuple[Ints, Ints, Floats]:
    """Return the cost of a byte on each shared link, there and back, for one way after the other.

    The links of a way are in the order of their first occurrence.
    """
    way = np.repeat(np.arange(len(source)), np.diff(pointers))
    taken = np.ones(len(route))
    if network.model.cross_traffic:
        back_pointers, back = routes(network.topology, target, source)
        way = np.concatenate((way, np.repeat(np.arange(len(source)), np.diff(back_pointers))))
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
