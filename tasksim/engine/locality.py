"""Cost of data that have left the cache, charged in the order of task starts."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from tasksim.graph.reuse import ReuseTracker
    from tasksim.graph.taskgraph import TaskGraph
    from tasksim.models.locality import Locality
    from tasksim.platform.description import Platform

__all__ = ["MIN_NEAR_SHARE", "FarCharge", "FarCosts", "FarPart", "caches_of"]

MIN_NEAR_SHARE = 0.1
"""Minimum share of a modelled duration that remains with all data near. Shares come from a
regression, and durations may be drawn, so the estimated cost of far data may exceed a whole
duration; a tenth keeps it positive. Models of large kernels are far from this limit (the shipped
ones leave 94 %), but those of tasks of microseconds may reach it."""


class FarCosts(NamedTuple):
    """Distances at which data are far, and their cost, per class of workers (row) and task.

    Columns of tasks that far data do not slow down are 0.
    """

    near_bytes: NDArray[np.float64]
    reach_bytes: NDArray[np.float64]
    read_s_per_byte: NDArray[np.float64]
    written_s_per_byte: NDArray[np.float64]

    @classmethod
    def none(cls, classes: int, tasks: int) -> FarCosts:
        """Return costs of 0."""
        return cls(*(np.zeros((classes, tasks)) for _ in cls._fields))


class FarCharge:
    """Cost of far data; ``extra_s`` must be called once per task, in the order of starts.

    *cache_of* has the number of each worker's cache; None: all workers share one.
    """

    def __init__(
        self, graph: TaskGraph, costs: FarCosts, cache_of: Sequence[int] | None = None
    ) -> None:
        self.costs = costs
        self.cache_of = cache_of
        self._graph = graph

    @property
    def caches(self) -> int:
        """The number of caches."""
        return 1 if self.cache_of is None else max(self.cache_of) + 1

    @cached_property
    def _tracker(self) -> ReuseTracker:
        from tasksim.graph.reuse import ReuseTracker

        return ReuseTracker(self._graph, self.caches)

    @cached_property
    def _columns(self) -> list[list[list[float]]]:
        return [column.tolist() for column in self.costs]

    def extra_s(self, task: int, group: int, worker: int) -> float:
        """Start *task* on *worker*, of class *group*; return the seconds that its far data add."""
        near, reach, read_s, written_s = (column[group][task] for column in self._columns)
        cache = 0 if self.cache_of is None else self.cache_of[worker]
        read, written = self._tracker.far_bytes(task, near, reach, cache)
        return read * read_s + written * written_s


class FarPart(NamedTuple):
    """Cost of far data, and the part of it in the models' means, in seconds."""

    costs: FarCosts
    contained_s: NDArray[np.float64]
    cache_of: tuple[int, ...] | None = None
    """The cache of each worker; None: all workers share one."""

    @classmethod
    def of(
        cls,
        known: Mapping[tuple[int, int], Locality],
        graph: TaskGraph,
        platform: Platform,
        means_s: NDArray[np.float64],
    ) -> FarPart:
        """Return the part for the *known* localities, by class of workers and kernel."""
        from tasksim.graph.reuse import read_and_written_bytes

        shape = len(platform.classes), len(graph)
        costs, contained = FarCosts.none(*shape), np.zeros(shape)
        read_bytes, written_bytes = read_and_written_bytes(graph)
        cache_of, size_of = caches_of(platform)
        for (index, kernel), locality in known.items():
            tasks = graph.kernel == kernel
            group = platform.classes[index]
            if (size_bytes := size_of[group.workers[0]]) is not None:
                locality = locality.on_cache(size_bytes)
            speed = platform.speeds[group.architecture]
            read_s = locality.seconds_per_far_byte / speed
            written_s = locality.seconds_per_far_written_byte / speed
            costs.read_s_per_byte[index, tasks] = read_s
            costs.written_s_per_byte[index, tasks] = written_s
            contained[index, tasks] = (
                read_s * locality.mean_far_share * read_bytes[tasks]
                + written_s * locality.mean_far_written_share * written_bytes[tasks]
            )
            # Each kernel has its own: kernels that were calibrated separately may differ.
            costs.near_bytes[index, tasks] = locality.near_bytes
            costs.reach_bytes[index, tasks] = locality.reach_bytes
        room_s = (1.0 - MIN_NEAR_SHARE) * means_s
        beyond = contained > room_s
        for per_byte in (costs.read_s_per_byte, costs.written_s_per_byte):
            per_byte[beyond] *= room_s[beyond] / contained[beyond]
        contained[beyond] = room_s[beyond]
        return cls(costs, contained, cache_of)

    def near(self, durations_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return modelled durations with all data near."""
        # A minimum remains, even for extreme draws.
        near_s: NDArray[np.float64] = np.maximum(
            durations_s - self.contained_s, MIN_NEAR_SHARE * durations_s
        )
        return near_s

    def charge(self, graph: TaskGraph) -> FarCharge:
        """Return the charge of far data for one replay."""
        return FarCharge(graph, self.costs, self.cache_of)


def caches_of(platform: Platform) -> tuple[tuple[int, ...] | None, list[float | None]]:
    """Return the number of each worker's last-level cache, and the given size of each cache.

    Each memory domain with a cache has its own; all other workers share one. The numbers are None
    if all workers share one cache.
    """
    of = [0] * len(platform.workers)
    size_of: list[float | None] = [None] * len(of)
    own = [domain for domain in platform.memory_domains if domain.cache_bytes is not None]
    shared = sum(len(domain.workers) for domain in own) < len(of)
    for number, domain in enumerate(own, start=int(shared)):
        for worker in domain.workers:
            of[worker], size_of[worker] = number, domain.cache_bytes
    return (tuple(of) if max(of, default=0) else None), size_of
