"""Copies between the memories of different classes of workers that no schedule avoids.

Classes whose workers share a memory, or are of one architecture, are one *site*: copies among
devices of a kind do not count. A task that reads a datum of another site waits at least for one
copy into its own site, from any memory outside, alone on its route. A link carries, at least, each
version of a datum once into each site that reads it and did not write it. Both hold for every
replay, so bounds may count them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tasksim.engine.data.network import paths_of
from tasksim.schedulers.static.follower import sendable_flows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tasksim.engine.data.network import Path
    from tasksim.graph.csr import Int64
    from tasksim.platform.description import Platform
    from tasksim.schedulers.static.problem import Problem

__all__ = ["ROUNDING_S", "CopiedFlows", "LeastCopies", "alone_on_route", "copied_flows"]

ROUNDING_S = 2e-9
"""Time in seconds by which a replay may round a copy down: its latency and its end, a tick each.

A path has no more copies than tasks, so a bound with copies is lowered by as much for each task.
"""


class CopiedFlows(NamedTuple):
    """The data that tasks read in their final value, a row per reader; a *source* of -1 is none."""

    source: Int64
    target: Int64
    size_bytes: NDArray[np.float64]
    """Size of the datum."""
    home: Int64
    """The site where the datum is at the start, or -1 if no class of workers is there."""
    version: Int64
    """A number for the datum as its source wrote it."""


def copied_flows(problem: Problem, copies: LeastCopies) -> CopiedFlows:
    """Return the flows of *problem* for which copies are certain to be needed."""
    source, target, handle = sendable_flows(problem)
    graph = problem.graph
    _, version = np.unique(source * (graph.handles + 1) + handle, return_inverse=True)
    return CopiedFlows(
        source,
        target,
        graph.handle_size[handle].astype(np.float64),
        copies.site_of_memory[graph.handle_home[handle].astype(np.int64)],
        version.reshape(-1).astype(np.int64),
    )


def alone_on_route(platform: Platform, source: int, target: int, path: Path) -> tuple[float, float]:
    """Return the latency in seconds of a copy that is alone on its route, and its bytes/s."""
    route = platform.route(source, target) or ()
    links = [platform.links[link] for link in route]
    rates = [link.bandwidth_bytes_per_s / route.count(link.id) for link in links]
    return sum(link.latency_s for link in links), min([path.limit * 1e9, *rates])


class LeastCopies:
    """Sites of a platform, and the least duration of a copy into each of them.

    Parameters
    ----------
    platform : Platform
        Memories, links and routes.
    problem : Problem
        Workers and their classes.

    Attributes
    ----------
    site_of_class : ndarray of int
        The site of each class of workers.
    site_of_memory : ndarray of int
        The site of each memory; -1 for one without workers.
    sites : int
        The number of sites.
    apart : bool
        Whether data may be in a memory outside a site, so that copies may be needed.
    """

    def __init__(self, platform: Platform, problem: Problem) -> None:
        memories, classes = len(platform.memories), problem.costs_s.shape[1]
        workers = [np.flatnonzero(problem.class_of == c).tolist() for c in range(classes)]
        of_class = [set(problem.memory_of[members].tolist()) for members in workers]
        kinds = [{platform.workers[w].architecture for w in members} for members in workers]
        site = np.arange(classes)
        for one in range(classes):
            for other in range(one):
                if of_class[one] & of_class[other] or kinds[one] & kinds[other]:
                    site[site == site[one]] = site[other]
        _, numbered = np.unique(site, return_inverse=True)
        self.site_of_class: Int64 = numbered.reshape(-1).astype(np.int64)
        self.sites = int(self.site_of_class.max(initial=-1)) + 1
        self.site_of_memory: Int64 = np.full(memories, -1, np.int64)
        for c, inside in enumerate(of_class):
            self.site_of_memory[sorted(inside)] = self.site_of_class[c]
        self.apart = len(set(self.site_of_memory.tolist())) > 1
        self.capacity_bytes_per_s = np.array(
            [link.bandwidth_bytes_per_s if link.shared else np.inf for link in platform.links]
        )
        self.link_names = tuple(link.name for link in platform.links)
        self._routes: list[list[tuple[float, float]]] = [[] for _ in range(self.sites)]
        crossed: list[list[NDArray[np.float64]]] = [[] for _ in range(self.sites)]
        if memories > 1:
            for (source, target), path in paths_of(platform).items():
                into = int(self.site_of_memory[target])
                if into < 0 or into == self.site_of_memory[source]:
                    continue
                self._routes[into].append(alone_on_route(platform, source, target, path))
                times = np.zeros(len(platform.links))
                for link, count in path.links:
                    times[link] = count
                crossed[into].append(times)
        self.crossings = np.array(
            [np.min(rows, axis=0) if rows else np.zeros(len(platform.links)) for rows in crossed]
        ).reshape(self.sites, len(platform.links))
        """The least number of times that a copy into each site crosses each link."""

    def into_s(self, size_bytes: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the least duration in seconds of copies of these sizes into each site.

        The shape is (sizes, sites); 0 where no route leads into a site.
        """
        found = np.zeros((len(size_bytes), self.sites))
        for site, routes in enumerate(self._routes):
            if routes:
                each = [latency + size_bytes / rate for latency, rate in routes]
                found[:, site] = np.min(each, axis=0)
        return found
