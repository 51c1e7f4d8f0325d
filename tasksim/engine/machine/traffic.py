"""Accesses of running tasks to the memories of all domains, where access is non-uniform.

The memory share of a task's duration grows with the distance between its domain and the homes of
its data, and with the load of their memories and of the way there. The core's
``engine/machine/traffic.h`` computes the same, in this order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasksim.engine.numa import Distances
    from tasksim.engine.slowing import Slowing

__all__ = ["Traffic"]


class Placed(Protocol):
    """A task under way on a worker of a memory domain."""

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
        """Yield per task its place, its stretch, and that with all data in its own domain.

        The second is as :class:`~tasksim.engine.slowing.Slowing` has it, where no domain sees
        another.
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
        """Return per domain and kind the stretch where no domain sees another."""
        counts = [[0] * len(self._demand) for _ in self._domains]
        for _, task in tasks:
            counts[task.domain][task.kind] += 1
        return [self._slowing.stretches(domain, row) for domain, row in enumerate(counts)]

    def _excess(self, tasks: Sequence[tuple[int, Placed]]) -> tuple[list[float], list[list[float]]]:
        """Return by how much accesses take longer than those of a core alone to its own memory.

        First per domain, if all data of its tasks were at home there, then per domain and home.
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
        """Return what is *asked* of a memory by so many cores over what it gives; at least 1."""
        curve = self._slowing.curves[domain]
        if not curve:
            return 1.0
        return max(1.0, asked / curve[min(max(int(cores + 0.5), 1), len(curve)) - 1])
