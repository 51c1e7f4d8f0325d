"""Accesses of running tasks to the memories of all domains, with non-uniform memory.

The memory share of a task's duration grows with the distance between its domain and the homes of
its data, and with the load of these memories and of the links to them. The core's
``engine/machine/traffic.h`` computes the same, in the same order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasksim.engine.numa import Distances
    from tasksim.engine.slowing import Slowing

__all__ = ["Traffic"]


class Placed(Protocol):
    """A running task on a worker of a memory domain."""

    kind: int
    domain: int
    shares: list[float]
    """Shares of its accesses to the memory of each domain."""


class Traffic:
    """Accesses of the running tasks to the memories of all domains."""

    def __init__(self, slowing: Slowing, distances: Distances) -> None:
        self._slowing, self._distances = slowing, distances
        self._demand, self._share = slowing.kinds.demand, slowing.kinds.share
        self._domains = range(len(distances.ratio))

    def stretches(self, running: Sequence[Placed | None]) -> Iterator[tuple[int, float, float]]:
        """Yield, per task, its place, its stretch, and its stretch with all data in its own domain.

        The second stretch is that of :class:`~tasksim.engine.slowing.Slowing`, in which domains do
        not affect each other.
        """
        tasks = [(place, task) for place, task in enumerate(running) if task is not None]
        alone = self._alone(tasks)
        near, excess = self._excess(tasks)
        for place, task in tasks:
            far = 0.0
            row = excess[task.domain]
            for home, share in enumerate(task.shares):
                if share:
                    far += share * row[home]
            local = alone[task.domain][task.kind]
            stretch = local + self._share[task.kind] * (far - near[task.domain])
            yield place, max(1.0, stretch), local

    def _alone(self, tasks: Sequence[tuple[int, Placed]]) -> list[tuple[float, ...]]:
        """Return the stretch per domain and kind, without effects of other domains."""
        counts = [[0] * len(self._demand) for _ in self._domains]
        for _, task in tasks:
            counts[task.domain][task.kind] += 1
        return [self._slowing.stretches(domain, row) for domain, row in enumerate(counts)]

    def _excess(self, tasks: Sequence[tuple[int, Placed]]) -> tuple[list[float], list[list[float]]]:
        """Return the excess cost of accesses over those of a core alone to its own memory.

        The first result is per domain, with all data of its tasks at home there, the second per
        domain and home.
        """
        domains, zeros = self._domains, [0.0] * len(self._domains)
        own_asked, own_cores, asked, cores = zeros[:], zeros[:], zeros[:], zeros[:]
        crossing = [zeros[:] for _ in domains]
        for _, task in tasks:
            domain, demand = task.domain, self._demand[task.kind]
            own_asked[domain] += demand
            own_cores[domain] += 1.0
            for home, share in enumerate(task.shares):
                asked[home] += demand * share
                cores[home] += share
                crossing[domain][home] += demand * share
        near = [self._load(each, own_asked[each], own_cores[each]) - 1.0 for each in domains]
        load = [self._load(each, asked[each], cores[each]) for each in domains]
        ratio, limit = self._distances.ratio, self._distances.limit
        excess = [
            [
                max(ratio[one][other], load[other], crossing[one][other] / limit[one][other]) - 1.0
                for other in domains
            ]
            for one in domains
        ]
        return near, excess

    def _load(self, domain: int, asked: float, cores: float) -> float:
        """Return the bandwidth *asked* by *cores* cores over that of the memory; at least 1."""
        curve = self._slowing.curves[domain]
        if not curve:
            return 1.0
        return max(1.0, asked / curve[min(max(int(cores + 0.5), 1), len(curve)) - 1])
