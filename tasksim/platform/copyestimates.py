"""Schedulers' estimates of the durations of copies, separate from their simulated durations."""

from __future__ import annotations

from itertools import permutations
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tasksim.platform.description import Platform

__all__ = ["CopyEstimates", "copy_seconds"]


class CopyEstimates:
    """Expected times of copies between the memories of *platform*, *devices* of them in use.

    The estimates are StarPU's (``core/perfmodel/perfmodel_bus.c``): the latency plus the bytes over
    the bandwidth, both measured without other traffic, times a fixed factor for contention: all
    devices at once, in both directions. On a route of a single link, a device has the link to
    itself.
    """

    def __init__(self, platform: Platform, devices: int) -> None:
        count = len(platform.memories)
        self.fixed_s = [[inf] * count for _ in range(count)]
        self.per_byte_s = [[inf] * count for _ in range(count)]
        for source, target in permutations(range(count), 2):
            links = platform.route(source, target)
            if links is not None:
                latency_s, bandwidth = _latency_and_bandwidth(platform, links)
                sharing = platform.copying.contention * (1 if len(links) == 1 else devices)
                self.fixed_s[source][target] = latency_s
                self.per_byte_s[source][target] = max(1.0, sharing) / bandwidth
        self._add_hops(count)
        self.direct = [[bool(platform.route(s, t)) for t in range(count)] for s in range(count)]
        self._nearest: dict[tuple[int, int, int], int] = {}
        self._best: dict[tuple[int, int, int], float] = {}

    def _add_hops(self, count: int) -> None:
        """Fill gaps between memories by two copies over the first memory in between."""
        direct = [[f < inf for f in row] for row in self.fixed_s]
        for source, target in permutations(range(count), 2):
            if direct[source][target]:
                continue
            hops = [m for m in range(count) if direct[source][m] and direct[m][target]]
            if hops:
                middle = hops[0]
                for table in (self.fixed_s, self.per_byte_s):
                    table[source][target] = table[source][middle] + table[middle][target]

    def copy_s(self, size: float, source: int, target: int) -> float:
        """Return the expected time to copy *size* bytes from *source* to *target*, in seconds."""
        if source == target or not size:
            return 0.0
        return self.fixed_s[source][target] + size * self.per_byte_s[source][target]

    def nearest(self, valid: int, target: int, size: int) -> int:
        """Return the memory in the mask *valid* with the shortest copy to *target*.

        Memories with a route of their own come first; the lowest number wins a tie.
        """
        key = (valid, target, size)
        found = self._nearest.get(key)
        if found is None:
            sources = [m for m in range(valid.bit_length()) if valid >> m & 1 and m != target]
            found = min(
                sources,
                key=lambda m: (not self.direct[m][target], self.copy_s(size, m, target), m),
                default=target,
            )
            self._nearest[key] = found
        return found

    def best_s(self, valid: int, target: int, size: int) -> float:
        """Return the expected time to copy a datum from the nearest of *valid* to *target*."""
        key = (valid, target, size)
        found = self._best.get(key)
        if found is None:
            found = self.copy_s(size, self.nearest(valid, target, size), target)
            self._best[key] = found
        return found


def copy_seconds(platform: Platform, size_bytes: float, source: int, target: int) -> float:
    """Return the expected time of a copy in seconds; infinite without a route.

    It is ``latency + max(1, contention * devices) * size / bandwidth``, with values measured from
    end to end if known, or else the sum of the latencies and the smallest bandwidth of the route.
    Without a route, two copies over the first memory connected to both count. With a single memory
    all data are in it, whatever their home.
    """
    if source == target or not size_bytes or len(platform.memories) == 1:
        return 0.0
    direct = _route_seconds(platform, size_bytes, source, target)
    if direct < inf:
        return direct
    hops = (
        _route_seconds(platform, size_bytes, source, memory.id)
        + _route_seconds(platform, size_bytes, memory.id, target)
        for memory in platform.memories
        if memory.id not in (source, target)
    )
    return next((seconds for seconds in hops if seconds < inf), inf)


def _route_seconds(platform: Platform, size_bytes: float, source: int, target: int) -> float:
    route = platform.route(source, target)
    if route is None:
        return inf
    latency_s, bandwidth = _latency_and_bandwidth(platform, route)
    sharing = 1 if len(route) == 1 else _devices(platform)
    return latency_s + size_bytes * max(1.0, platform.copying.contention * sharing) / bandwidth


def _latency_and_bandwidth(platform: Platform, route: tuple[int, ...]) -> tuple[float, float]:
    """Return the values of a route: measured from end to end, or else those of its links."""
    links = [platform.links[link] for link in route]
    latency_s, bandwidth = links[0].measured_latency_s, links[0].measured_bandwidth_bytes_per_s
    if latency_s is None:
        latency_s = sum(link.latency_s for link in links)
    if bandwidth is None:
        bandwidth = min(link.bandwidth_bytes_per_s / route.count(link.id) for link in links)
    return latency_s, bandwidth


def _devices(platform: Platform) -> int:
    """Return the number of memories of devices that have workers."""
    driven = (w for w in platform.workers if platform.device(w.architecture).pipeline)
    return len({worker.memory for worker in driven})
