"""Checks of the costs of non-uniform memory."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tasksim.platform.parts import FIRST_TOUCH, INTERLEAVED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tasksim.platform.parts import Numa

__all__ = ["numa_problems"]


def numa_problems(numa: Numa, domains: Sequence[str], nodes: int) -> Iterator[str]:
    """Yield problems of *numa*, for a platform with these memory *domains*."""
    if nodes > 1:
        yield f"numa is for one node, got {nodes}: make a cluster of platforms of one node"
    if not domains:
        yield "numa needs memory domains"
    tables = {"distances": numa.distances}
    if numa.bandwidths_bytes_per_s:
        tables["bandwidths"] = numa.bandwidths_bytes_per_s
    for name, table in tables.items():
        rows = [len(row) for row in table]
        if rows != [len(domains)] * len(domains):
            legal = f"{len(domains)} rows of {len(domains)}"
            yield f"numa: {name}: must be {legal}, one per memory domain (got rows of {rows})"
            return
    yield from _number_problems(numa, domains)
    legal_placements = [FIRST_TOUCH, INTERLEAVED, *domains]
    if numa.placement not in legal_placements:
        legal = ", ".join(legal_placements)
        yield f"numa: unknown placement (got {numa.placement!r}, legal {legal})"
    if not (math.isfinite(numa.cache_bytes) and numa.cache_bytes >= 0):
        yield f"numa: cache has {numa.cache_bytes} bytes, must be 0 or more"
    for name, kernel in numa.kernels.items():
        if not 0 <= kernel.memory_share <= 1:
            yield f"numa: kernel {name} has memory share {kernel.memory_share}, must be 0 to 1"
        demand = kernel.demand_bytes_per_s
        if demand is not None and not (math.isfinite(demand) and demand >= 0):
            yield f"numa: kernel {name} demands {demand} bytes/s, must be 0 or more"


def _number_problems(numa: Numa, domains: Sequence[str]) -> Iterator[str]:
    for source, row in enumerate(numa.distances):
        for home, distance in enumerate(row):
            pair = f"from {domains[source]} to {domains[home]}"
            if not (math.isfinite(distance) and distance > 0):
                yield f"numa: distance {pair} is {distance}, must be positive"
            elif distance < row[source]:
                own = f"that of {domains[source]} to itself, {row[source]}"
                yield f"numa: distance {pair} is {distance}, must be at least {own}"
    for source, row in enumerate(numa.bandwidths_bytes_per_s):
        for home, bandwidth in enumerate(row):
            pair = f"from {domains[source]} to {domains[home]}"
            if source == home and bandwidth != math.inf:
                what = "must be infinite: the memory domain has its own"
                yield f"numa: bandwidth {pair} is {bandwidth}, {what}"
            elif not bandwidth > 0:
                yield f"numa: bandwidth {pair} is {bandwidth}, must be positive"
