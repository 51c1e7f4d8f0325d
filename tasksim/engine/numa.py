"""Homes of data on machines with non-uniform access to memory.

A datum gets its home, a memory domain, when the first task accesses it. From then on, accesses of
tasks in other domains are remote. The core's ``engine/numa.h`` computes the same, in the same
order.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Final, NamedTuple

from tasksim.graph.access_mode import AccessMode
from tasksim.graph.reuse import ReuseTracker, accessed_bytes
from tasksim.platform.parts import FIRST_TOUCH, INTERLEAVED

if TYPE_CHECKING:
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.platform.description import Platform
    from tasksim.platform.parts import Numa

__all__ = ["Distances", "Homes", "distances_of"]

NO_HOME: Final = -1
"""Home of a datum that no task has accessed."""
BY_TOUCH: Final = -1
"""Placement of data in the domain of the first task that accesses them."""
OVER_ALL: Final = -2
"""Placement of the pages of each datum over all domains; other placements are domain numbers."""


class Distances(NamedTuple):
    """Costs, bandwidths and sizes of the memory domains."""

    names: tuple[str, ...]
    ratio: list[list[float]]
    """Cost of an access per domain and home, relative to an access to the domain's own memory."""
    limit: list[list[float]]
    """Bandwidth of the link per domain and home, in bytes/s; infinite: no limit."""
    room: list[float]
    """Size of each domain's memory in bytes; infinite: no limit."""
    placement: int
    cache_bytes: float

    def nearest(self, domain: int) -> list[int]:
        """Return all domains by their distance from *domain*, itself first, and by number."""
        row = self.ratio[domain]
        return sorted(range(len(row)), key=lambda home: (home != domain, row[home]))


def distances_of(platform: Platform, numa: Numa) -> Distances:
    """Return the distances between the memory domains of *platform*, described by *numa*."""
    domains = platform.memory_domains
    numbers = range(len(domains))
    if numa.placement in (FIRST_TOUCH, INTERLEAVED):
        placement = BY_TOUCH if numa.placement == FIRST_TOUCH else OVER_ALL
    else:
        placement = [domain.name for domain in domains].index(numa.placement)
    return Distances(
        tuple(domain.name for domain in domains),
        [[numa.ratio(source, home) for home in numbers] for source in numbers],
        [list(row) for row in numa.bandwidths_bytes_per_s] or [[inf] * len(domains)] * len(domains),
        [inf if domain.size_bytes is None else domain.size_bytes for domain in domains],
        placement,
        numa.cache_bytes,
    )


class Homes:
    """Homes of the data of a graph, assigned in the order in which tasks start."""

    def __init__(self, distances: Distances, graph: TaskGraph) -> None:
        self._distances = distances
        domains = len(distances.ratio)
        self._domains = range(domains)
        self._first: list[int] = graph.access_ptr.tolist()
        self._handles: list[int] = graph.access_handle.tolist()
        self._modes: list[int] = graph.access_mode.tolist()
        self._sizes: list[float] = accessed_bytes(graph).tolist()
        self._home = [NO_HOME] * graph.handles
        self._room = list(distances.room)
        self._nearest = [distances.nearest(domain) for domain in self._domains]
        self._cache_bytes = distances.cache_bytes
        self._caches = ReuseTracker(graph, domains) if self._cache_bytes else None
        self.accessed_bytes = [[0.0] * domains for _ in self._domains]

    def touch(self, task: int, domain: int) -> list[float]:
        """Start *task* in *domain*; return the shares of its accesses to each domain's memory."""
        accesses = [
            k
            for k in range(self._first[task], self._first[task + 1])
            if self._modes[k] != AccessMode.SCRATCH
        ]
        found, caches = [0.0] * len(self._domains), self._caches
        total = 0.0
        for k in accesses:
            handle, size = self._handles[k], self._sizes[k]
            total += size
            if self._home[handle] == NO_HOME:
                self._home[handle] = self._place(size, domain)
            home = self._home[handle]
            if home == domain or (
                caches is not None and caches.distance(handle, domain) <= self._cache_bytes
            ):
                found[domain] += size
            elif home == OVER_ALL:
                for each in self._domains:
                    found[each] += size / len(self._domains)
            else:
                found[home] += size
        if caches is not None:
            caches.use(task, domain)
        row = self.accessed_bytes[domain]
        for each in self._domains:
            row[each] += found[each]
        if not total:
            return [1.0 if each == domain else 0.0 for each in self._domains]
        return [size / total for size in found]

    def _place(self, size: float, domain: int) -> int:
        """Return the home of a datum that a task in *domain* accesses first.

        It is the domain that the placement names; if its memory is full, the nearest domain with
        room; if no domain has room, still the first choice.
        """
        placement = self._distances.placement
        if placement == OVER_ALL:
            return OVER_ALL
        wanted = domain if placement == BY_TOUCH else placement
        for home in self._nearest[wanted]:
            if size <= self._room[home]:
                self._room[home] -= size
                return home
        return wanted
