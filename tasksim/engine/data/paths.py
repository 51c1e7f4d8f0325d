"""Paths: the links that copies between two memories cross, and their latencies and weights."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from tasksim.engine.ticks import ticks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tasksim.platform.description import Platform

__all__ = ["Path", "paths_of"]

SHORTEST = 1e-9
"""A latency of zero counts as this many seconds when shares are weighted: a tick, the least that
the clock knows, so that such a flow gets next to all that others leave."""


class Path:
    """The links of a route, each with the number of times that it is crossed.

    *limit* is the rate that the route has for every flow alone.
    """

    __slots__ = ("latency", "limit", "links", "number", "weight")

    def __init__(
        self, number: int, links: Sequence[int], latency_s: float, limit: float = inf
    ) -> None:
        self.number = number
        self.limit = limit
        self.links = tuple((link, links.count(link)) for link in dict.fromkeys(links))
        self.latency = ticks(latency_s)
        self.weight = 1.0 / max(latency_s, SHORTEST)


def paths_of(platform: Platform) -> dict[tuple[int, int], Path]:
    """Return the routes between the memories, by their ends."""
    paths: dict[tuple[int, int], Path] = {}
    for source in platform.memories:
        for target in platform.memories:
            links = platform.route(source.id, target.id) if source.id != target.id else None
            if links is not None:
                paths[source.id, target.id] = _path(platform, len(paths), links)
    return paths


def _path(platform: Platform, number: int, links: Sequence[int]) -> Path:
    route = [platform.links[link] for link in links]
    alone = [link.bandwidth_bytes_per_s * 1e-9 for link in route if not link.shared]
    shared = [link.id for link in route if link.shared]
    return Path(number, shared, sum(link.latency_s for link in route), min(alone, default=inf))
